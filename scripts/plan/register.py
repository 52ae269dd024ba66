"""The jobs of a plan by their digests, as rules ask for them."""

import itertools
import os
import sys
from collections.abc import Callable, Iterable
from inspect import signature
from pathlib import Path

from plan import environments, listing
from plan.jobs import (
    BuildJob,
    CheckingJob,
    CheckJob,
    EnvironmentJob,
    Job,
    damage,
    digest_of,
    failed_last,
    say_once,
    wanted,
    with_needs,
)
from plan.memory import Peaks
from plan.planner import Plan


def for_rules(answer: Callable) -> Callable:
    """A function that rules ask for each job. Snakemake (9.27) finds out its arguments several times a call, which would
    be a tenth of the time to plan, unless it names them itself."""
    answer.__signature__ = signature(answer)
    return answer


class Register:
    """Every job that was asked for. Those that are done are in no one's inputs: Snakemake plans what is missing, and
    cannot make again what is there. `anew` is told of files that are there and have to be made all the same; `is_dry`:
    whether the run changes nothing; beside: plans of the same rows with other versions, timed in turn with them."""

    def __init__(
        self,
        plan: Plan,
        anew: Callable[[str], object] = lambda path: None,
        is_dry: Callable[[], bool] = lambda: False,
        beside: Iterable[Plan] = (),
    ) -> None:
        self._plan, self._anew, self._is_dry = plan, anew, is_dry
        self._plans = [plan, *beside]
        self._jobs: dict[str, Job] = {}
        self._checking: dict[str, CheckingJob] = {}  # by the digest of a check
        self._place: dict[str, int] = {}  # of a timing or a training run, among all
        self._memory = Peaks()

    def __getitem__(self, digest: str) -> Job:
        """The job of that digest; where this process has not planned it, as on a node of a cluster, all are planned."""
        if digest not in self._jobs:
            for document in self._plan.config["documents"]:
                timings = [plan.timings(document, plan.most(document)) for plan in self._plans]
                for together in zip(*timings, strict=True):
                    place = len(self._place) + 1
                    self._place = {job.digest: place for job in together} | self._place
                self._add(itertools.chain(*timings))
                self._add(self._plan.convergences(document))
        if digest not in self._jobs:
            sys.exit(
                f"No job has the digest {digest}: a source, a setting or the environment has changed since the run "
                "was planned. Run the same command again; nothing is lost."
            )
        return self._jobs[digest]

    def wanted(self, document: str, counts: dict[str, int] | None = None) -> list[str]:
        """The results of a document's timings, and with `counts` of its training runs, that are not there."""
        missing = wanted(self._asked(document, counts))
        self._add(missing)
        for job in missing:
            self._place.setdefault(job.digest, len(self._place) + 1)
        return [job.path for job in missing]

    def listed(
        self, path: str, serves: str, document: str, counts: dict[str, int] | None = None
    ) -> list[str]:
        """The inputs of a list of a document's records: those `wanted`. Snakemake (9.27) misses no record that somebody
        deleted while its list is there, and takes a list for right that is damaged, another's or gone while what it
        `serves` for is there."""
        found = self.wanted(document, counts)
        if found or not listing.is_right(path, listing.manifest(self._plan, document, counts)):
            self._anew(path)
        if wrong := damage(path):
            say_once(f"{path} is damaged ({wrong}); it is made again.")
        elif os.path.exists(serves) and not os.path.exists(path):
            say_once(f"{path} is missing; it is made again.")
        return found

    def _asked(self, document: str, counts: dict[str, int] | None) -> list[Job]:
        runs = [] if counts is None else self._plan.convergences(document)
        return [*self._plan.timings(document, counts), *runs]

    def awaited(self, job: Job) -> list[str]:
        """The files of those results that a job reads and that are not there."""
        found = []
        if failed_last(job.failures):
            # Newer than what the attempt left: Snakemake makes that again, even where it has no memory of the attempt.
            Path(job.failures).touch()
            found.append(job.failures)
        check = job.needed(CheckJob)
        # What makes a check waits for all that it reads itself, and each input of thousands of jobs takes its time.
        needs = [check] if check and not check.done() else job.needs
        return found + [path for need in needs for path in self.missing(need)]

    def place(self, job: Job) -> int:
        """Where a timing or a training run stands among those that were asked for, from 1; 0: it was not asked for by a document."""
        return self._place.get(job.digest, 0)

    def memory_mb(self, job: Job) -> int:
        """How much memory a timing takes, as far as it is known."""
        return self._memory.megabytes(job)

    def missing(self, need: Job) -> list[str]:
        """The files of a result that some job reads, if they are to be made first."""
        if need.done():
            return []
        self._set_aside(need)
        if isinstance(need, CheckJob):
            return [self._checking[need.digest].path]
        if isinstance(need, BuildJob):
            return [need.path, need.library]
        if isinstance(need, EnvironmentJob) and not need.built():
            self._anew(need.path)  # it says what is not there any more
        return [need.path]

    def summary(self, document: str) -> str:
        """A digest of what a document's records are asked for: of all first ones, there or not, and the settings."""
        return digest_of([self._plan.config, [job.digest for job in self._asked(document, {})]])

    def conda_file(self, job: Job) -> str | None:
        """The file of the environment that a job runs in, where conda builds it."""
        return environments.conda_file(job.needed(EnvironmentJob).order)

    def python(self, job: Job) -> str:
        """The interpreter of the environment that a job runs in."""
        return environments.python(job.needed(EnvironmentJob).order)

    def environment(self, name: str, fingerprint: str) -> EnvironmentJob:
        """An environment that a file's name asks for, which must be as it is now."""
        found = [plan.environment(name) for plan in self._plans]
        job = next((each for each in found if each.stem == f"{name}-{fingerprint}"), found[0])
        if job.stem != f"{name}-{fingerprint}":
            sys.exit(
                f"Environment {name}-{fingerprint} is {job.stem} now: its file, its lock or Python has changed "
                "since that name was made. Ask for what it is now."
            )
        return job

    def tool(self, name: str, which: str) -> list[str] | str | None:
        """Of an environment that no cell runs in: its `record`, where that is missing, `conda` file or `python`."""
        job = self._plan.environment(name)
        if which == "record":
            return self.missing(job)
        return (environments.conda_file if which == "conda" else environments.python)(job.order)

    def _set_aside(self, job: Job) -> None:
        """Take a damaged result out of the way; a dry run leaves it there and plans it."""
        if job.set_aside(self._is_dry()):
            self._anew(job.path)

    def _add(self, jobs: Iterable[Job]) -> None:
        queue = [job for job in jobs if job.digest not in self._jobs]
        # A check belongs to one process, also when those beside it are done.
        unchecked = [
            job
            for job in queue
            if (check := job.needed(CheckJob)) and check.digest not in self._checking
        ]
        for checking in self._plan.checkings(unchecked):
            self._checking |= {check.digest: checking for check in checking.checks}
            queue.append(checking)
        added = with_needs(queue)
        for job in added.values():
            self._set_aside(job)
        self._jobs = added | self._jobs
