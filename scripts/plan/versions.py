"""Two versions of a package: what stands in envs/ with each, which processes are compared, and which of them are missing."""

import itertools
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from measurement import machine
from measurement.record import read_json
from plan import configuration, matrix, pins
from plan.estimate import A_RUN, Estimate, total
from plan.jobs import RESULTS, TimeJob, wanted
from plan.matrix import Measurement
from plan.planner import Plan

FOLDER = Path(RESULTS, "bumps")
# A version is called faster or slower by at least so many processes of each: in twenty comparisons of a version with itself, three
# processes named one row whose processes differ by 4 %.
NAMED_BY = 5
MOST = 2  # times as many processes as the protocol's: fewer cells are compared, and more precisely


@dataclass
class Side:
    """One of the two versions: what stands in envs/ with it, its plan, and the processes that its page is made of."""

    version: str
    texts: dict[Path, str]
    plan: Plan | None = None
    jobs: dict[Measurement, list[TimeJob]] = field(default_factory=dict)
    missing: list[TimeJob] = field(default_factory=list)

    def put(self) -> None:
        """Write its pins."""
        pins.write(self.texts)

    def planned(
        self, config: dict, names: Sequence[str], patterns: Sequence[str]
    ) -> list[Measurement]:
        """Make its plan, with its pins in place. Returns the cells that run in some environments, of those that
        `patterns` name."""
        self.put()
        self.plan = Plan(config, cores=machine.usable_cores())
        cells = [
            cell
            for cell in matrix.cells(config)
            if cell.environment in names and matrix.is_one_of(list(patterns), cell)
        ]
        for cell in cells:  # an environment is read once, now
            self.plan.timing(cell, 1)
        return cells

    def there(self, cell: Measurement) -> list[TimeJob]:
        """The processes of a cell that have a record."""
        numbered = (self.plan.timing(cell, number) for number in itertools.count(1))
        return list(itertools.takewhile(lambda job: Path(job.path).exists(), numbered))

    def choose(self, cells: Iterable[Measurement], again: bool, retry: bool) -> None:
        """Name the processes of some cells that are compared: all that are there, and those that are missing of as many
        as the protocol wants; `again`: as many new ones. retry: also try what failed again."""
        for cell in cells:
            there = self.there(cell)
            count = self.plan.processes_of(cell)
            first = len(there) + 1 if again else 1
            last = len(there) + count if again else max(len(there), count)
            self.jobs[cell] = [self.plan.timing(cell, n) for n in range(first, last + 1)]
        jobs = [job for each in self.jobs.values() for job in each]
        self.missing = wanted(jobs) if retry else [j for j in jobs if not Path(j.path).exists()]

    def may_have_another(self, cell: Measurement) -> bool:
        """Whether a cell may have more processes than are compared."""
        protocol = self.plan.settings(self.plan.documents[cell])["protocol"]
        return len(self.jobs[cell]) < max(MOST * protocol["most_processes"], NAMED_BY)

    def another(self, cells: Sequence[Measurement]) -> None:
        """Name one more process of some cells, as they are not decided."""
        for cell in cells:
            self.jobs[cell].append(self.plan.timing(cell, self.jobs[cell][-1].process + 1))
        self.missing = [self.jobs[cell][-1] for cell in cells]

    def records(self) -> dict[Measurement, list[Path]]:
        """The records of the processes compared, of cells that have some."""
        found = {
            cell: [Path(job.path) for job in jobs if Path(job.path).exists()]
            for cell, jobs in self.jobs.items()
        }
        return {cell: paths for cell, paths in found.items() if paths}

    def environments(self, names: Sequence[str]) -> dict[str, Path]:
        """{name: record} of its environments that were built."""
        paths = {name: Path(self.plan.environment(name).path) for name in names}
        return {name: path for name, path in paths.items() if path.exists()}


def note_of(package: str) -> Path:
    """The file that says which version a package had before its last bump."""
    return FOLDER / f"{pins.known_as(package)}.json"


def sides(pin: pins.Pin, version: str, files: Mapping[Path, str], since: str | None) -> list[Side]:
    """The version before and the one asked for; a stop with one line if it is not known what was before."""
    standing = [one for text in files.values() for one in pins.versions_in(text, pin.package)]
    if not since and set(standing) == {version}:
        note = note_of(pin.package)  # of a bump that was interrupted
        last = read_json(str(note)) if note.exists() else {}
        if last.get("after") != version:
            sys.exit(
                f"{pin.package} is at {version} already; name a version to compare with: FROM=version."
            )
        since = last["before"]
    old = {
        file: pins.with_version(text, pin.package, since) if since else text
        for file, text in files.items()
    }
    new = {file: pins.with_version(text, pin.package, version) for file, text in files.items()}
    return [Side(since or " and ".join(dict.fromkeys(standing)), old), Side(version, new)]


def with_processes(config: dict, count: int) -> dict:
    """A configuration in whose plans cells have so many processes."""
    over = {"protocol": {"processes": count, "most_processes": count}}
    documents = {name: over for name, own in config["overrides"].items() if "protocol" in own}
    return configuration.merged(config, over | {"overrides": documents, "preliminary": False})


def beside(config: dict, old: Side) -> dict:
    """A configuration that times another version in turn with that of envs/: its environment files lie among the results."""
    instead = {str(file): str(FOLDER / "before" / file.name) for file in old.texts}
    pins.write({Path(instead[str(file)]): text for file, text in old.texts.items()})
    return configuration.merged(config, {"beside": [instead]})


def expected(sides: Iterable[Side]) -> tuple[float, int]:
    """(seconds that all that is missing will take, how many of its cells were never seen)."""
    estimate, seconds, unknown = Estimate(), 0.0, 0
    for side in sides:
        found, strange = total(estimate, side.plan.with_needed(side.missing), side.plan.cores)
        seconds, unknown = seconds + found + (A_RUN if side.missing else 0), unknown + strange
    return seconds, unknown
