"""How long jobs will take, from what earlier ones took on this machine, whatever protocol they were under.

A timing's seconds are those of starting (import, building, first step, and what its process does around them), and
those of its batches, of which this protocol says how many there are.
"""

import csv
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from measurement.record import read_json
from plan.jobs import RESULTS, CheckingJob, CheckJob, ConvergenceJob, Job, TimeJob

# Somebody else's, for a folder where nothing was measured yet.
EXAMPLE = Path("report/example/cells.csv")
# Where nothing at all is known of a job: seconds of one like it on two cores.
USUAL = {"environment": 30.0, "tuning": 10.0, "kernel": 5.0, "corpus": 3.0, "check": 6.0}
USUAL |= {"time": 8.0, "train": 60.0}
A_JOB = 0.5  # what Snakemake takes for one


def batches_s(batch_s: float, protocol: dict) -> float:
    """Seconds that a protocol's warm-up and timed batches take if one takes `batch_s`. (See measurement/timing.py.)"""
    least, most = protocol["least_s"], protocol["most_s"] or float("inf")
    warm = min(max(protocol["warmup_batches"] * batch_s, least), max(most, batch_s))
    timed = min(max(protocol["timed_batches"] * batch_s, least), most)
    return warm + max(timed, protocol["least_batches"] * batch_s)


@dataclass
class Earlier:
    """What earlier jobs of a kind took, by the name of their cell."""

    starting: dict[str, list[float]] = field(default_factory=dict)  # seconds beside batches
    batch: dict[str, list[float]] = field(default_factory=dict)

    def note(self, name: str, starting: float, batch: float = 0.0) -> None:
        self.starting.setdefault(name, []).append(starting)
        self.batch.setdefault(name, []).append(batch)

    def of(self, name: str) -> tuple[float, float] | None:
        """(seconds beside batches, seconds of a batch) of a cell; of one never seen, those of the same implementation in
        the same environment and phase, elsewhere; None if there is none either."""
        if name in self.starting:
            return statistics.median(self.starting[name]), statistics.median(self.batch[name])
        environment, _, *rest = name.split("/")
        like = [each for each in self.starting if each.split("/")[0] == environment]
        like = [each for each in like if each.split("/")[2:] == rest]
        if not like:
            return None
        return (
            statistics.median(statistics.median(self.starting[each]) for each in like),
            statistics.median(statistics.median(self.batch[each]) for each in like),
        )


def _name(identity: dict) -> str:
    return "{environment}/{benchmark}/{implementation}/{phase}-{device}".format(**identity)


def _example(path: Path) -> dict[str, Earlier]:
    """What another machine took, by its table."""
    found = defaultdict(Earlier)
    with open(path, newline="") as stream:
        for row in csv.DictReader(stream):
            if row["status"] == "ok":
                own = [row[key] for key in ("import_s", "build_s", "first_step_s")]
                start = sum(float(text) for text in own if text)
                found["time"].note(_name(row), start + 1.0, float(row["wall_median_s"]))
                found["check"].note(_name(row), start)
    return found


def _here(results: str) -> dict[str, Earlier]:
    """What this folder's records took."""
    found = defaultdict(Earlier)
    for kind in (CheckJob, TimeJob, ConvergenceJob):
        for path in Path(results, kind.folder).rglob("*.json"):
            record = read_json(str(path))
            seconds, batches, batch = record["seconds"], 0.0, 0.0
            if record["status"] == "ok" and kind is TimeJob:
                batches = sum(record["warmup"][1:]) + sum(record["samples"])
                batch = statistics.median(record["samples"])
            elif record["status"] == "ok" and kind is ConvergenceJob:
                batches = record["curve"][-1]["train_s"]
                batch = batches / record["curve"][-1]["batch"]
            found[kind.kind].note(_name(record["identity"]), max(seconds - batches, 0.0), batch)
    return found


class Estimate:
    """Expected seconds of jobs, by this folder's records; where they do not tell, by the example's."""

    def __init__(self, results: str = RESULTS) -> None:
        self._known = [_here(results)] + ([_example(EXAMPLE)] if EXAMPLE.exists() else [])

    def _of(self, kind: str, name: str) -> tuple[float, float] | None:
        return next(filter(None, (each[kind].of(name) for each in self._known)), None)

    def seconds(self, job: Job) -> tuple[float, bool]:
        """(expected seconds, whether its cell or one like it was seen before)."""
        if isinstance(job, CheckingJob):
            found = [self.seconds(check) for check in job.checks]
            return A_JOB + sum(each for each, _ in found), all(known for _, known in found)
        if isinstance(job, CheckJob):
            found = self._of("check", job.name)
            return (found[0], True) if found else (USUAL["check"], False)
        if isinstance(job, TimeJob):
            found = self._of("time", job.cell.name)
            if not found:
                return A_JOB + USUAL["time"], False
            return A_JOB + found[0] + batches_s(found[1], job.order["protocol"]), True
        if isinstance(job, ConvergenceJob):
            found, batches = self._of("train", job.name), job.order["protocol"]["batches"]
            if not found or not batches:
                return A_JOB + USUAL["train"], False
            return A_JOB + found[0] + found[1] * batches, True
        return A_JOB + USUAL[job.kind], True


def total(estimate: Estimate, jobs: Iterable[Job], cores: int) -> tuple[float, int]:
    """(expected seconds of some jobs on so many cores, how many of their cells were never seen)."""
    found = [(estimate.seconds(job), min(job.threads, cores)) for job in jobs]
    seconds = sum(each * threads / cores for (each, _), threads in found)
    return seconds, sum(not known for (_, known), _ in found)
