"""Jobs: what is done once, what decides its result, and where that lies.

A result's file is named by the digest of its identity: of everything that decides what stands in it. So a result that
is out of date is one that is missing. Nothing that was measured is overwritten, and a setting, a version or a machine
that comes back finds its results again.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from measurement import record
from measurement.record import RETRIED, read_lines
from plan.files import damage, set_aside
from plan.matrix import Measurement

RESULTS = "results"
# Below it: what compilers left, looks of processes that live or were killed, and whose turn it is.
COMPILED, LOOKS, TURNS = "compiled", "looks", "turns"
MANIFEST_VERSION = 2
SPLITS = ("train", "valid", "test")


def digest_of(content: object, digits: int = 8) -> str:
    """Hexadecimal digits naming a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:digits]


def failed_attempts(path: str) -> int:
    """How often a job has failed, by the file that keeps its failed attempts."""
    return sum(attempt["status"] in RETRIED for attempt in read_lines(path))


def failed_last(path: str) -> bool:
    """Whether the last attempt of a job failed, in a way that another one may not."""
    attempts = read_lines(path)
    return bool(attempts) and attempts[-1]["status"] in RETRIED


@dataclass(frozen=True, eq=False)
class Job:
    """One piece of work with one result.

    name: what of the result's path a reader knows it by; parts: its identity, {what decides: a short text or digest of
    it}; needs: the jobs whose results it reads; order: what the script that does it is told, beside paths; threads and
    gpus that it takes.
    """

    kind: ClassVar[str]
    folder: ClassVar[str]  # below results/
    suffix: ClassVar[str] = ".json"

    name: str
    parts: dict[str, str]
    needs: tuple["Job", ...] = ()
    order: dict = field(default_factory=dict)
    threads: int = 1
    gpus: int = 0

    @cached_property
    def digest(self) -> str:
        return digest_of([self.kind, self.name, self.parts], 12)

    @property
    def stem(self) -> str:
        """Its result's path below its folder, without suffix."""
        return f"{self.name}.{self.digest}"

    @property
    def path(self) -> str:
        """The file of its result."""
        return f"{RESULTS}/{self.folder}/{self.stem}{self.suffix}"

    @property
    def failures(self) -> str:
        """The file that keeps its failed attempts; no run overwrites it."""
        return f"{RESULTS}/failures/{self.kind}/{self.stem}.jsonl"

    @property
    def beside(self) -> tuple[str, ...]:
        """Files that belong to its result, which has their digests."""
        return ()

    def done(self) -> bool:
        """Whether its result is there, as it was written, and no failure that is to be tried again."""
        there = os.path.exists(self.path) and not damage(self.path, self.beside)
        return there and not failed_last(self.failures)

    def set_aside(self, dry: bool = False) -> bool:
        """Take a damaged result out of the way of the next one, and say so; -> whether it is damaged."""
        return set_aside(self.path, self.beside, dry)

    def needed(self, kind: type) -> "Job | None":
        """The result of another kind that it reads, if any."""
        return next((job for job in self.needs if isinstance(job, kind)), None)

    def told(self) -> dict:
        """The whole order, as JSON goes to the script: with its identity, its failures, and where the results that it
        reads lie."""
        return {
            "kind": self.kind,
            **self.order,
            "parts": self.parts,
            "failures": self.failures,
            # One more makes Snakemake run it again.
            "failed_attempts": failed_attempts(self.failures),
            "reads": {job.kind: job.path for job in self.needs},
        }


class EnvironmentJob(Job):
    """Build an environment, or look at the one that conda or the user provides."""

    kind, folder = "environment", "environments"

    @property
    def stem(self) -> str:
        """The fingerprint is identity enough."""
        return f"{self.name}-{self.parts['fingerprint']}"

    def built(self) -> bool:
        """Whether a virtual environment is where its record says, for it may have been deleted."""
        if self.order["builder"] != "venv" or not self.order["interpreter"]:
            return True
        return Path(self.order["folder"], "bin", "python").exists()

    def done(self) -> bool:
        return super().done() and self.built()


class CorpusJob(Job):
    """Cut a text into tokens."""

    kind, folder = "corpus", "corpus"

    @property
    def stem(self) -> str:
        return f"{self.digest}/corpus"

    @property
    def beside(self) -> tuple[str, ...]:
        return tuple(str(Path(self.path).with_name(f"{split}.npy")) for split in SPLITS)


class TuneJob(Job):
    """Search schedules for a kernel's shape. Its database lies beside it and serves further trials too."""

    kind, folder = "tuning", "tuning"

    @property
    def stem(self) -> str:
        return f"{self.name}/tuning.{self.digest}"


class BuildJob(Job):
    """Build a kernel into a library: kernel.json and kernel.so."""

    kind, folder = "kernel", "kernels"

    @property
    def stem(self) -> str:
        return f"{self.name}.{self.digest}/kernel"

    @property
    def library(self) -> str:
        return str(Path(self.path).with_suffix(".so"))

    @property
    def beside(self) -> tuple[str, ...]:
        return (self.library,)

    def done(self) -> bool:
        return super().done() and Path(self.library).exists()


@dataclass(frozen=True, eq=False)
class MeasurementJob(Job):
    """Something that is done with one cell."""

    cell: Measurement | None = None
    document: str = ""


class CheckJob(MeasurementJob):
    """Hold an implementation against the float64 reference, in one phase of one benchmark."""

    kind, folder = "check", "checks"


@dataclass(frozen=True, eq=False)
class TimeJob(MeasurementJob):
    """Time one process of a cell, which all have the same order."""

    kind, folder = "time", "records"

    process: int = 1

    @property
    def looks(self) -> str:
        """Where its process keeps each look as it comes."""
        return f"{RESULTS}/{LOOKS}/{self.stem}.jsonl"

    def told(self) -> dict:
        told = super().told() | {
            "identity": self.order["identity"] | {"process": self.process},
            "looks": self.looks,
            "turns": f"{RESULTS}/{TURNS}",
        }
        once = self.order["protocol"]["compile_once"]
        return told | ({"compiled": self.compiled} if once else {})

    @property
    def compiled(self) -> str:
        """The folder in which compilers of its cell's processes work."""
        return f"{RESULTS}/{COMPILED}/{digest_of([self.cell.name, self.parts], 12)}"


class ConvergenceJob(MeasurementJob):
    """Train an implementation from the seed, with its perplexity on the way."""

    kind, folder = "train", "convergence"

    @property
    def checkpoint(self) -> str:
        """What an interrupted run goes on from. It is no output: Snakemake deletes those of a job that fails."""
        return str(Path(self.path).with_suffix(".npz"))

    def told(self) -> dict:
        return super().told() | {"checkpoint": self.checkpoint}


@dataclass(frozen=True, eq=False)
class CheckingJob(Job):
    """One process that makes several checks of one implementation, as starting a framework takes longer than most of
    them. Its result names theirs."""

    kind, folder = "checking", "checked"

    checks: tuple[CheckJob, ...] = ()

    def done(self) -> bool:
        return False  # there is one only while a check is wanted

    def told(self) -> dict:
        return {
            "kind": "checking",
            "checks": [check.told() | {"path": check.path} for check in self.checks],
        }


class PastChecking(CheckingJob):
    """Such a process of an earlier run, by the result that it left."""

    @classmethod
    def of(cls, made: str, checks: Sequence[CheckJob]) -> "PastChecking":
        """made: its result; checks: those of its checks that are there still."""
        needs = {need.path: need for check in checks for need in check.needs}
        name = os.path.relpath(made, f"{RESULTS}/{cls.folder}").rpartition(".")[0]
        name, _, digest = name.rpartition(".")
        past = cls(name, {}, tuple(needs.values()), checks=tuple(checks))
        past.__dict__["digest"] = digest
        return past

    def done(self) -> bool:
        return True


def past_checkings() -> dict[str, list[str]]:
    """{result of a process that made checks: the checks' records}, of those that are whole."""
    files = sorted(map(str, Path(RESULTS, CheckingJob.folder).rglob(f"*{CheckingJob.suffix}")))
    return {path: record.read_json(path)["checks"] for path in files if not damage(path)}


def wanted(jobs: Iterable[Job]) -> list[Job]:
    """Those whose results are not there."""
    return [job for job in jobs if not job.done()]


def with_needs(jobs: Iterable[Job]) -> dict[str, Job]:
    """{digest: job} of some jobs and of all that they need."""
    found, queue = {}, list(jobs)
    while queue:
        job = queue.pop()
        if job.digest not in found:
            found[job.digest] = job
            queue.extend(job.needs)
    return found


def _of_other_identities(job: Job) -> list[Path]:
    """The results of jobs of the same name."""
    before, _, after = job.path.partition(job.digest)
    folder, start = os.path.split(before)
    end, *below = after.split("/")
    try:
        names = os.listdir(folder)  # a pattern for each of thousands of jobs would take a second
    except FileNotFoundError:
        return []
    found = [Path(folder, name, *below) for name in names if name.startswith(start)]
    found = [path for path in found if path.parts[-1 - len(below)].endswith(end) and path.exists()]
    return [path for path in found if str(path) != job.path]


def news(job: Job) -> str:
    """Which part of a job's identity is new beside the newest result of the same name, in words."""
    if isinstance(job, CheckingJob):
        more = f" ({len(job.checks)} checks)" if len(job.checks) > 1 else ""
        return news(job.checks[0]) + more
    if os.path.exists(job.path):
        return f"attempt {failed_attempts(job.failures) + 1}, as the last one failed"
    others = _of_other_identities(job)
    if not others:
        return "never done before"
    newest = max(others, key=lambda path: path.stat().st_mtime)
    try:
        before = json.loads(newest.read_text(encoding="utf-8")).get("parts", {})
    except ValueError:
        before = {}
    changed = [
        f"{part} ({before.get(part, 'none')} -> {value})"
        for part, value in job.parts.items()
        if before.get(part) != value
    ]
    return "new: " + (", ".join(changed) or "everything")
