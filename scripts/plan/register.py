"""The jobs of a plan by their digests, as rules ask for them."""

import itertools
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from inspect import signature
from pathlib import Path

from measurement.record import write_json
from plan import environments, listing
from plan.files import damage, say_once
from plan.jobs import (
    BuildJob,
    CheckingJob,
    CheckJob,
    ConvergenceJob,
    EnvironmentJob,
    Job,
    PastChecking,
    TimeJob,
    digest_of,
    failed_last,
    past_checkings,
    with_needs,
)
from plan.planner import Plan


def for_rules(answer: Callable) -> Callable:
    """A function that rules ask for each job. Snakemake (9.27) finds out its arguments several times a call, which would
    be a tenth of the time to plan, unless it names them itself."""
    answer.__signature__ = signature(answer)
    return answer


class Register:
    """Every job that was asked for, and what its rule reads. A result's name is its identity, so what is done is never done
    again for what it was made of: `kept` marks such inputs (Snakemake's `ancient`). `anew` is told of files that are there
    and have to be made all the same; `is_dry`: whether the run changes nothing; beside: plans of the same rows with other
    versions, timed in turn with them."""

    def __init__(
        self,
        plan: Plan,
        anew: Callable[[str], object] = lambda path: None,
        is_dry: Callable[[], bool] = lambda: False,
        beside: Iterable[Plan] = (),
        kept: Callable[[str], str] = str,
    ) -> None:
        self._plan, self._anew, self._is_dry, self._kept = plan, anew, is_dry, kept
        self._plans = [plan, *beside]
        self._jobs: dict[str, Job] = {}
        self._done: set[str] = set()  # digests: what is done stays so
        self._checking: dict[str, CheckingJob] = {}  # by the digest of a check
        self._place: dict[str, int] = {}  # of a timing or a training run, among all
        self._lists: dict[str, dict] = {}  # what may stand in lists of records

    def __getitem__(self, digest: str) -> Job:
        """The job of that digest; where this process has not planned it, as on a node of a cluster, all are planned."""
        if digest not in self._jobs:
            for document in self._plan.config["documents"]:
                timings = [plan.timings(document, plan.most(document)) for plan in self._plans]
                self._put_beside(timings)
                self._add(itertools.chain(*timings))
                self._add(self._plan.convergences(document))
        if digest not in self._jobs:
            sys.exit(
                f"No job has the digest {digest}: a source, a setting or the environment has changed since the run "
                "was planned. Run the same command again; nothing is lost."
            )
        return self._jobs[digest]

    def _put_beside(self, timings: Iterable[Iterable[TimeJob]]) -> None:
        """Give the next missing processes of the same cell, one of each plan, the same place, whatever their numbers are: they are
        to take turns."""
        places = defaultdict(list)
        for jobs in timings:
            missing = Counter()
            for job in jobs:
                if not self._is_done(job):
                    missing[job.cell] += 1
                    places[missing[job.cell], job.cell].append(job)
        for key in sorted(places, key=lambda each: self._plan.turn(*each)):
            place = len(self._place) + 1
            self._place = {job.digest: place for job in places[key]} | self._place

    def asked(self, document: str, counts: dict[str, int] | None = None) -> list[str]:
        """The results of a document's timings, and with `counts` of its training runs."""
        return self._ask([*itertools.chain(*self._asked(document, counts))])

    def _ask(self, jobs: list[Job]) -> list[str]:
        """The results of jobs, which are planned from now on."""
        self._add(jobs)
        for job in jobs:
            self._place.setdefault(job.digest, len(self._place) + 1)
        return [path for job in jobs for path in self.files(job)]

    def listed(
        self, path: str, serves: str, document: str, counts: dict[str, int] | None = None
    ) -> list[str]:
        """The inputs of a list of a document's records: those `asked` for. Snakemake (9.27) takes a list for right that
        is damaged, another's or gone while what it `serves` for is there."""
        timings, runs = self._asked(document, counts)
        found = self._ask(jobs := [*timings, *runs])
        self._lists[path] = listing.planned(self._plan, document, timings, runs)
        right = listing.is_right(path, listing.filled(self._lists[path]))
        if not right or not all(map(self._is_done, jobs)):
            self._anew(path)
            if not self._is_dry():
                write_json(listing.PLANNED, self._lists)
        if wrong := damage(path):
            say_once(f"{path} is damaged ({wrong}); it is made again.")
        elif os.path.exists(serves) and not os.path.exists(path):
            say_once(f"{path} is missing; it is made again.")
        return found

    def _asked(
        self, document: str, counts: dict[str, int] | None
    ) -> tuple[list[TimeJob], list[ConvergenceJob]]:
        """A document's timings, and with `counts` its training runs; anew each time, as a text that becomes known changes them."""
        runs = [] if counts is None else self._plan.convergences(document)
        return self._plan.timings(document, counts), runs

    def _is_done(self, job: Job) -> bool:
        if job.digest not in self._done and job.done():
            self._done.add(job.digest)
        return job.digest in self._done

    def inputs(self, job: Job) -> list[str]:
        """The files that a job reads. One that is done names those that are there still: no other is made for it."""
        if self._is_done(job):
            return [path for need in filter(self._is_done, job.needs) for path in self.files(need)]
        found = []
        if failed_last(job.failures):
            # Newer than what the attempt left: Snakemake makes that again, even where it has no memory of the attempt.
            if not self._is_dry():
                Path(job.failures).touch()
            found.append(job.failures)
            self._anew(job.path)  # as it may remember the digest of the attempts
        check = job.needed(CheckJob)
        # What makes a check waits for all that it reads itself, and each input of thousands of jobs takes its time.
        needs = [check] if check and not self._is_done(check) else job.needs
        return found + [path for need in needs for path in self.files(need)]

    def place(self, job: Job) -> int:
        """Where a timing or a training run stands among those that were asked for, from 1; 0: it was not asked for by a document."""
        return self._place.get(job.digest, 0)

    def files(self, need: Job) -> list[str]:
        """The files of a result, as an input of what reads it."""
        done = self._is_done(need)
        if not done:
            self._set_aside(need)
        found = [need.path]
        if isinstance(need, CheckJob):
            made = self._checking.get(need.digest)
            found = [made.path] if made and (not done or os.path.exists(made.path)) else []
        elif isinstance(need, BuildJob):
            found = [need.path, need.library]
        elif isinstance(need, EnvironmentJob) and not done and not need.built():
            self._anew(need.path)  # it says what is not there any more
        return list(map(self._kept, found)) if done else found

    def summary(self, document: str) -> str:
        """A digest of what a document's records are asked for: of all first ones, there or not, and the settings."""
        return digest_of(
            [self._plan.config, [job.digest for job in itertools.chain(*self._asked(document, {}))]]
        )

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
        """Of an environment that no cell runs in: its `record`, `conda` file or `python`."""
        job = self._plan.environment(name)
        if which == "record":
            return self.files(job)
        return (environments.conda_file if which == "conda" else environments.python)(job.order)

    def _set_aside(self, job: Job) -> None:
        """Take a damaged result out of the way; a dry run leaves it there and plans it."""
        if job.set_aside(self._is_dry()):
            self._anew(job.path)

    def _add(self, jobs: Iterable[Job]) -> None:
        queue = [job for job in jobs if job.digest not in self._jobs]
        self._add_past(queue)
        missing = [job for job in queue if not self._is_done(job)]
        # A check belongs to one process, also when those beside it are done.
        unchecked = [
            job
            for job in missing
            if (check := job.needed(CheckJob)) and check.digest not in self._checking
        ]
        for checking in self._plan.checkings(unchecked):
            self._checking |= {check.digest: checking for check in checking.checks}
            missing.append(checking)
            if os.path.exists(checking.path):  # of checks that are not there any more
                self._anew(checking.path)
        for job in (added := with_needs(missing)).values():
            self._set_aside(job)
        self._jobs = with_needs(queue) | added | self._jobs

    @cached_property
    def _past(self) -> dict[str, list[str]]:
        return past_checkings()

    def _add_past(self, jobs: Iterable[Job]) -> None:
        """Add the processes that made the checks of some jobs, as far as these are there."""
        checks = {check.path: check for check in (job.needed(CheckJob) for job in jobs) if check}
        for made, listed in self._past.items():
            found = [checks[path] for path in listed if path in checks]
            if found := [check for check in found if self._is_done(check)]:
                past = PastChecking.of(made, found)
                past = self._jobs.setdefault(past.digest, past)
                self._checking |= {check.digest: past for check in found}
