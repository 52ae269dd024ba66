"""How long jobs will take, from what earlier ones took on this machine, whatever protocol they were under.

A timing's seconds are those of starting (import, building, first step, and what its process does around them), and
those of its batches, of which this protocol says how many there are.

What no job here tells is taken from the tables of the reports that come with this repository, of other machines, in proportion to
how fast both multiply: there the multiply-add peak's row says that, here the yardstick. In 344 processes on a machine of 193 GFLOP/s (2 cores of
AMD Zen 3) batches and starts took 2.2 to 3.7 and 2.3 times those of the example's (515), all of them 46 minutes where
this gives 47.

A kernel takes to build what others of its variant did, by how many steps they have: an unrolled one's seconds grow with them,
and end at the protocol's limit.

Of a row that was seen on other shapes only, the nearest one tells, in proportion to what both compute, of a check to the
root of that, and to how many weights are compared; of one that was not seen at all, the rows of its phase on the nearest shape. A row that some machine's run found to be
unsupported, and that none timed, takes no time; one whose check failed takes that of its check.
"""

import csv
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from datasets import ptb
from measurement import machine, quiet, rounds, yardstick
from measurement.devices import cpu
from measurement.record import read_json
from plan import matrix
from plan.earlier import (
    A_PROCESS,
    CHECKS_GROW,
    VERIFYING,
    Earlier,
    Refused,
    building,
    comparing,
    name_of,
    parameters,
)
from plan.jobs import (
    RESULTS,
    BuildJob,
    CheckingJob,
    CheckJob,
    ConvergenceJob,
    EnvironmentJob,
    Job,
    TimeJob,
    TuneJob,
)

# Somebody else's reports, for a folder where nothing was measured yet.
EXAMPLES = Path("report")
PEAK = "tvm/fma-peak"
# Seconds, on the examples' machine, of what no table tells (of a kernel beside building it), and of jobs of which nothing at all
# is known.
USUAL = {"environment": 25.0, "kernel": 1.5, "corpus": 3.0, "check": 4.0, "time": 6.0}
TUNING, A_TRIAL = 4.0, 0.7
A_JOB = 0.1  # what lies idle until the next can begin
# As much more than A_PROCESS of a GPU's: what nvidia-smi is asked meanwhile, and a batch under the profiler (an H200, 42 processes: 2.9 s in all).
ON_A_GPU = 2.2
A_CHECK = 0.5  # of the reference, beside what the implementation takes
A_TURN = 0.05  # of a turn beside its batches: what waits until threads sleep, and whose turn it is
VALIDATING = 5.0  # at each point of a training run
PAGES = 4.0  # of a document, each time they are made
A_RUN = 8.0  # of Snakemake, until its first job begins, and of the pages about all documents
READINGS = 5  # of this machine's speed, where none was taken before


class Speed(NamedTuple):
    """How fast a machine multiplies, on so many cores."""

    gflops: float
    cores: int


def speed_here(results: str = RESULTS) -> Speed | None:
    """This machine's, by what its records' yardsticks read; else by the fastest reading of any process since it was started,
    or of some now, as a noisy moment makes some slow; None without a compiler for it."""
    cores = machine.usable_cores()

    def rates(readings: Iterable[dict]) -> list[float]:
        same = [each for each in readings if (each["by"], each["threads"]) == ("c", cores)]
        return [each["gflops"] for each in same if each["gflops"]]  # looks have hand-overs only

    paths = Path(results, TimeJob.folder).rglob("*.json")
    if found := rates(one for path in paths for one in quiet.readings(read_json(str(path)))):
        return Speed(statistics.median(found), cores)
    own = yardstick.Yardstick(cores)
    now = rates(yardstick.remembered()) or rates(own.read() for _ in range(READINGS))
    return Speed(max(now), cores) if now else None


def batches_s(batch_s: float, protocol: dict) -> float:
    """Seconds that a process's warm-up and turns take if a batch takes `batch_s`. (See measurement/timing.py.)"""
    warm = (protocol["warmup_batches"] - 1) * batch_s
    if protocol["most_s"]:
        warm = min(warm, rounds.WARM_UP_S + batch_s)
    look = batch_s * max(1, math.ceil(protocol["look_s"] / batch_s))
    count = protocol["rounds"]
    if protocol["most_s"]:
        count = min(count, max(protocol["least_rounds"], math.ceil(protocol["most_s"] / look)))
    return warm + count * (look + max(cpu.WARM_S, batch_s) + A_TURN)


def _nothing(slower: float) -> dict[str, Earlier]:
    """By kind of job; slower: how many times as long one core takes as the examples'."""
    found = {kind: Earlier(growing=kind in ("time", "train")) for kind in (*USUAL, "train")}
    return found | {"check": Earlier(power=CHECKS_GROW, comparing=slower)}


def example_rows(reports: Path) -> list[dict[str, str]]:
    """The rows of reports' tables of cells."""
    found: list[dict[str, str]] = []
    for path in sorted(reports.glob("*/cells.csv")):
        with open(path, encoding="utf-8", newline="") as stream:
            found += csv.DictReader(stream)
    return found


def _speeds(rows: Iterable[dict[str, str]]) -> dict[str, Speed]:
    """{machine: how fast it multiplies} of those whose peak a table has."""
    found: dict[str, Speed] = {}
    for row in rows:
        cores = re.search(r"-(\d+)c-", row.get("machine", ""))
        if row["implementation"] == PEAK and row["gflops"] and cores:
            highest = found.get(row["machine"], Speed(0.0, 1)).gflops
            found[row["machine"]] = Speed(max(highest, float(row["gflops"])), int(cores[1]))
    return found


def _example(
    rows: Iterable[dict[str, str]], slower: dict[str, tuple[float, float]], usual: float
) -> dict[str, Earlier]:
    """What other machines took, by their table; slower: {machine: how many times as long batches, and what one core does,
    take here}; usual: the latter of them all."""
    found = _nothing(usual)
    for row in rows:
        batches, single = slower.get(row.get("machine", ""), (1.0, 1.0))
        wall = batches * float(row["wall_median_s"])
        imported, built, first = (
            single * float(row[key] or 0) for key in ("import_s", "build_s", "first_step_s")
        )
        # The first step is one of the batches to warm up.
        own = A_PROCESS + ON_A_GPU * (row["device"] == "gpu")
        start = own + imported + built + max(first - wall, 0.0) + VERIFYING * wall
        found["time"].note(name_of(row), start, wall)
        own = single * (A_CHECK + comparing(name_of(row)))
        found["check"].note(name_of(row), own + built + first, A_PROCESS + imported)
    return found


def _builds(
    results: str, rows: Iterable[dict[str, str]], slower: dict[str, tuple[float, float]]
) -> dict[tuple[str, str], float]:
    """Seconds of this folder's kernels, and of other machines' as `_example` says, by variant and benchmark."""
    here, others = {}, defaultdict(list)
    variants = {
        each["implementation"]: each["kernel"]
        for each in matrix.implementations()
        if "kernel" in each
    }
    for row in rows:
        variant, seconds = variants.get(row["implementation"]), row.get("kernel_build_s")
        if variant and seconds:
            single = slower.get(row.get("machine", ""), (1.0, 1.0))[1]
            took = float(seconds) + float(row["kernel_schedule_s"])
            others[variant, row["benchmark"]].append(single * took)
    for path in Path(results, BuildJob.folder).rglob("kernel.json"):
        record = read_json(str(path))
        if record["status"] == "ok":
            here[record["variant"], path.parts[-3]] = sum(record["seconds"].values())
    return {key: statistics.median(each) for key, each in others.items()} | here


def _here(results: str, slower: float) -> dict[str, Earlier]:
    """What this folder's records took."""
    found = _nothing(slower)
    for kind in (CheckJob, TimeJob, ConvergenceJob):
        for path in Path(results, kind.folder).rglob("*.json"):
            record = read_json(str(path))
            seconds, batches, batch = record["seconds"], 0.0, 0.0
            if record["status"] == "ok" and kind is TimeJob:
                batches = sum(record["warmup"][1:]) + sum(record["samples"])
                batches += sum(sum(look["warmup"]) for look in record.get("looks", ()))
                batch = statistics.median(record["samples"])
            elif record["status"] == "ok" and kind is ConvergenceJob:
                batches = record["curve"][-1]["train_s"]
                batch = batches / record["curve"][-1]["batch"]
            # The seconds of a process with several checks stand in the records of all, shared out.
            found[kind.kind].note(name_of(record["identity"]), max(seconds - batches, 0.0), batch)
    for path in Path(results, EnvironmentJob.folder).glob("*.json"):
        record = read_json(str(path))
        # One that another checkout had built says what that took.
        found["environment"].note(record["environment"], record["build_s"] or record["seconds"])
    return found


class Estimate:
    """Expected seconds of jobs, by this folder's records; where they do not tell, by the examples' and by how fast this
    machine is (None: as fast as that one)."""

    def __init__(self, results: str = RESULTS, speed: Speed | None = None) -> None:
        table = example_rows(EXAMPLES)
        rows = [row for row in table if row["status"] == "ok"]
        unsupported = Refused(table, ["unsupported"])
        untimed = Refused(table, ["unsupported", "incorrect"])
        self._refused = defaultdict(list, check=[unsupported], time=[untimed], train=[untimed])
        there = _speeds(rows)
        slower = {
            name: (
                other.gflops / speed.gflops,
                other.gflops / other.cores * speed.cores / speed.gflops,
            )
            for name, other in there.items()
            if speed
        }
        self.example = max(there.values(), default=None)
        self.slower = statistics.median(single for _, single in slower.values()) if slower else 1.0
        self._builds = _builds(results, rows, slower)
        self._known = [_here(results, self.slower), _example(rows, slower, self.slower)]
        self._told: dict[tuple[str, str], tuple[list[float], bool] | None] = {}
        counts = [int(row["processes"]) for row in rows if row.get("processes")]
        counts = [count for count in counts if count >= matrix.LEAST_PROCESSES]
        self.further = statistics.mean(counts) / min(counts) - 1 if counts else 0.0

    def _of(self, kind: str, name: str) -> tuple[list[float], bool] | None:
        """(what a job of that name took or is likely to, whether it or one like it was seen)."""
        if (kind, name) not in self._told:  # a cell's processes ask the same
            known = [each[kind] for each in self._known]
            ways = [
                *((each.own, True) for each in known),
                *((each.seconds, True) for each in self._refused[kind]),
                *((each.like, True) for each in known),
                *((each.any, False) for each in known),
            ]
            told = ((way(name), seen) for way, seen in ways)
            self._told[kind, name] = next((each for each in told if each[0]), None)
        return self._told[kind, name]

    def seconds(self, job: Job) -> tuple[float, bool]:
        """(expected seconds, whether its cell or one like it was seen before)."""
        found, known = self._seconds(job)
        return A_JOB + found, known

    def _seconds(self, job: Job) -> tuple[float, bool]:
        if isinstance(job, CheckingJob):
            usual = [self.slower * USUAL["check"], 0.0], False
            found = [self._of("check", check.name) or usual for check in job.checks]
            own = sum(seconds[0] for seconds, _ in found)
            return own + max(seconds[1] for seconds, _ in found), all(known for _, known in found)
        if isinstance(job, TimeJob):
            found = self._of("time", job.cell.name)
            if not found:
                return self.slower * USUAL["time"], False
            (start, batch), known = found
            return start + (batches_s(batch, job.order["protocol"]) if batch else 0.0), known
        if isinstance(job, ConvergenceJob):
            found, protocol = self._of("train", job.name), job.order["protocol"]
            if not found and (timed := self._of("time", job.name)):
                validating = self.slower * VALIDATING * (len(protocol["points"]) + 1)
                found = [timed[0][0] + validating, timed[0][1]], timed[1]
            if not found:
                return self.slower * USUAL["time"], False
            (start, batch), known = found
            shape = parameters(job.cell.benchmark)
            epoch = ptb.SIZES["train"][1] // (shape["batch"] * shape["length"]) if shape else 0
            return start + batch * (protocol["batches"] or epoch), known
        if isinstance(job, TuneJob):
            return self.slower * (TUNING + A_TRIAL * job.order["trials"]), True
        if isinstance(job, BuildJob):
            took = building(self._builds, job.order["variant"], job.name.split("/")[1]) or 0.0
            return self.slower * USUAL["kernel"] + min(took, job.order["build_limit_s"]), True
        found = self._of(job.kind, job.name) if isinstance(job, EnvironmentJob) else None
        return found[0][0] if found else self.slower * USUAL[job.kind], True


def total(estimate: Estimate, jobs: Iterable[Job], cores: int) -> tuple[float, int]:
    """(expected seconds of some jobs on so many cores, how many of their cells were never seen)."""
    found = [(estimate.seconds(job), min(job.threads, cores)) for job in jobs]
    seconds = sum(each * threads / cores for (each, _), threads in found)
    return seconds, sum(not known for (_, known), _ in found)
