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
from plan.jobs import (
    RESULTS,
    CheckingJob,
    CheckJob,
    ConvergenceJob,
    EnvironmentJob,
    Job,
    TimeJob,
    TuneJob,
)

# Somebody else's, for a folder where nothing was measured yet.
EXAMPLE = Path("report/example/cells.csv")
# Seconds, as measured on two cores, of what no table tells, and of jobs of which nothing at all is known.
USUAL = {"environment": 25.0, "kernel": 5.0, "corpus": 3.0, "check": 4.0, "time": 6.0}
TUNING, A_TRIAL = 4.0, 0.7
A_JOB = 0.5  # what Snakemake takes for one, and what lies idle until the next can begin
A_PROCESS = 1.5  # of a process beside import, building and steps: its start, the yardstick, a look at the machine
A_CHECK = 0.5  # of the reference, beside what the implementation takes
VERIFYING = 1.5  # batches that a timed process is verified on
VALIDATING = 5.0  # at each point of a training run
PAGES = 4.0  # of a document, each time they are made
A_RUN = (
    8.0  # of Snakemake, until its first job begins, and of the pages that are about all documents
)


def batches_s(batch_s: float, protocol: dict) -> float:
    """Seconds that a protocol's warm-up and timed batches take if one takes `batch_s`. (See measurement/timing.py.)"""
    least, most = protocol["least_s"], protocol["most_s"] or float("inf")
    warm = min(max(protocol["warmup_batches"] * batch_s, least), max(most, batch_s))
    timed = min(max(protocol["timed_batches"] * batch_s, least), most)
    return warm + max(timed, protocol["least_batches"] * batch_s)


@dataclass
class Earlier:
    """What earlier jobs of a kind took, by the name of their cell."""

    took: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)

    def note(self, name: str, *seconds: float) -> None:
        """Seconds beside batches, and of a batch; of a check those of its own, and of its process."""
        self.took.setdefault(name, []).append(seconds)

    def of(self, name: str) -> list[float] | None:
        """The medians of what was noted of a cell; of one never seen, of the same implementation in the same environment
        and phase, elsewhere; None if there is none either."""
        if name in self.took:
            return [statistics.median(each) for each in zip(*self.took[name], strict=True)]

        def but_benchmark(name: str) -> list[str]:
            environment, *rest = name.split("/")
            return [environment, *rest[1:]]

        like = [self.of(each) for each in self.took if but_benchmark(each) == but_benchmark(name)]
        return [statistics.median(each) for each in zip(*like, strict=True)] if like else None


def _name(identity: dict) -> str:
    return "{environment}/{benchmark}/{implementation}/{phase}-{device}".format(**identity)


def _example(path: Path) -> dict[str, Earlier]:
    """What another machine took, by its table."""
    found = defaultdict(Earlier)
    with open(path, newline="") as stream:
        for row in csv.DictReader(stream):
            if row["status"] == "ok":
                wall = float(row["wall_median_s"])
                imported, built, first = (
                    float(row[key] or 0) for key in ("import_s", "build_s", "first_step_s")
                )
                # The first step is one of the batches to warm up.
                start = A_PROCESS + imported + built + max(first - wall, 0.0) + VERIFYING * wall
                found["time"].note(_name(row), start, wall)
                found["check"].note(_name(row), A_CHECK + built + first, A_PROCESS + imported)
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
            # The seconds of a process with several checks stand in the records of all, shared out.
            found[kind.kind].note(_name(record["identity"]), max(seconds - batches, 0.0), batch)
    for path in Path(results, EnvironmentJob.folder).glob("*.json"):
        record = read_json(str(path))
        # One that another checkout had built says what that took.
        found["environment"].note(record["environment"], record["build_s"] or record["seconds"])
    return found


class Estimate:
    """Expected seconds of jobs, by this folder's records; where they do not tell, by the example's."""

    def __init__(self, results: str = RESULTS) -> None:
        self._known = [_here(results)] + ([_example(EXAMPLE)] if EXAMPLE.exists() else [])

    def _of(self, kind: str, name: str) -> tuple[float, float] | None:
        return next(filter(None, (each[kind].of(name) for each in self._known)), None)

    def seconds(self, job: Job) -> tuple[float, bool]:
        """(expected seconds, whether its cell or one like it was seen before)."""
        found, known = self._seconds(job)
        return A_JOB + found, known

    def _seconds(self, job: Job) -> tuple[float, bool]:
        if isinstance(job, CheckingJob):
            found = [self._of("check", check.name) for check in job.checks]
            known = [each for each in found if each]
            own = sum(each[0] if each else USUAL["check"] for each in found)
            return own + max((process for _, process in known), default=0.0), all(found)
        if isinstance(job, TimeJob):
            found = self._of("time", job.cell.name)
            if not found:
                return USUAL["time"], False
            return found[0] + batches_s(found[1], job.order["protocol"]), True
        if isinstance(job, ConvergenceJob):
            found, protocol = self._of("train", job.name), job.order["protocol"]
            if not found and (timed := self._of("time", job.name)):
                found = [timed[0] + VALIDATING * (len(protocol["points"]) + 1), timed[1]]
            if not found or not protocol["batches"]:
                return USUAL["time"], False  # of a run without an end nothing is known
            return found[0] + found[1] * protocol["batches"], True
        if isinstance(job, TuneJob):
            return TUNING + A_TRIAL * job.order["trials"], True
        found = self._of(job.kind, job.name) if isinstance(job, EnvironmentJob) else None
        return (found or [USUAL[job.kind]])[0], True


def total(estimate: Estimate, jobs: Iterable[Job], cores: int) -> tuple[float, int]:
    """(expected seconds of some jobs on so many cores, how many of their cells were never seen)."""
    found = [(estimate.seconds(job), min(job.threads, cores)) for job in jobs]
    seconds = sum(each * threads / cores for (each, _), threads in found)
    return seconds, sum(not known for (_, known), _ in found)
