"""`make bump PIN=torch==2.14.0`: write a pin, measure what it makes stale, and render a page of what changed.

Both versions' results lie side by side, as a result's name has its environment's: what is there is not measured again,
and going back to a version measures nothing. Where both versions have something to measure, their processes take turns.

Exit status: 0; with --fail, 1 if the new version is worse; 2 if it cannot be had, and then the old pin stands again.
"""

import argparse
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import yaml
from rich.console import Console

from measurement import machine
from measurement.record import read_json, write_json
from measurement.supervisor import worker_environment
from plan import configuration, environments, matrix, pins
from plan.estimate import A_RUN, Estimate, total
from plan.jobs import RESULTS, TimeJob, wanted
from plan.matrix import Cell
from plan.planner import Plan
from plan_run import with_needed
from reporting import bumps, page
from reporting.results import read_record
from run_workflow import require_alone, snakemake

FOLDER = Path(RESULTS, "bumps")
BUILD = Path(__file__).resolve().with_name("build_environment.py")


class Impossible(Exception):
    """The version cannot be had; the message says why."""


@dataclass
class Side:
    """One of the two versions: what stands in envs/ with it, its plan, and the processes that its page is made of."""

    version: str
    texts: dict[Path, str]
    plan: Plan | None = None
    jobs: dict[Cell, list[TimeJob]] = field(default_factory=dict)
    missing: list[TimeJob] = field(default_factory=list)

    def put(self) -> None:
        """Write its pins."""
        for file, text in self.texts.items():
            file.write_text(text)
        environments.forget()

    def planned(self, config: dict, names: Sequence[str], patterns: Sequence[str]) -> list[Cell]:
        """Make its plan, with its pins in place. Returns the cells that run in some environments, of those that
        `patterns` name."""
        self.put()
        self.plan = Plan(config, cores=machine.usable_cores())
        cells = [
            cell
            for document in config["documents"]
            for cell in self.plan.cells(document)
            if cell.environment in names and matrix.is_one_of(list(patterns), cell)
        ]
        for cell in cells:  # an environment is read once, now
            self.plan.timing(cell, 1)
        return cells

    def there(self, cell: Cell) -> list[TimeJob]:
        """The processes of a cell that have a record."""
        numbered = (self.plan.timing(cell, number) for number in itertools.count(1))
        return list(itertools.takewhile(lambda job: Path(job.path).exists(), numbered))

    def choose(self, cells: Iterable[Cell], again: bool, retry: bool) -> None:
        """Name the processes of some cells that are compared: all that are there, and those that are missing of as many
        as the protocol wants; `again`: as many new ones. retry: also try what failed again."""
        for cell in cells:
            there = self.there(cell)
            count = self.plan.processes(self.plan.documents[cell])
            first = len(there) + 1 if again else 1
            last = len(there) + count if again else max(len(there), count)
            self.jobs[cell] = [self.plan.timing(cell, n) for n in range(first, last + 1)]
        jobs = [job for each in self.jobs.values() for job in each]
        self.missing = wanted(jobs) if retry else [j for j in jobs if not Path(j.path).exists()]

    def turns(self) -> dict[int, list[TimeJob]]:
        """What is missing by its place among the processes of its cell."""
        return {
            place: [job for job in jobs if job in self.missing]
            for place, jobs in enumerate(itertools.zip_longest(*self.jobs.values()))
        }

    def records(self) -> dict[Cell, list[dict]]:
        """The records of the processes compared, of cells that have some."""
        found = {
            cell: [read_record(Path(job.path)) for job in jobs if Path(job.path).exists()]
            for cell, jobs in self.jobs.items()
        }
        return {cell: records for cell, records in found.items() if records}

    def environments(self, names: Sequence[str]) -> dict[str, dict]:
        """{name: record} of its environments that were built."""
        paths = {name: Path(self.plan.environment(name).path) for name in names}
        return {name: read_json(str(path)) for name, path in paths.items() if path.exists()}


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
                f"{pin.package} stands at {version} already; say what to compare with: FROM=version."
            )
        since = last["before"]
    old = {
        file: pins.with_version(text, pin.package, since) if since else text
        for file, text in files.items()
    }
    new = {file: pins.with_version(text, pin.package, version) for file, text in files.items()}
    return [Side(since or " and ".join(dict.fromkeys(standing)), old), Side(version, new)]


def build(side: Side, name: str) -> str | None:
    """Build one of a version's environments, where it is not yet there. Returns why there is none, if so."""
    job = side.plan.environment(name)
    if job.order["builder"] != "venv":
        return "its interpreter is named under `interpreters`, so no pin decides what runs in it"
    if not job.done():
        log = Path(RESULTS, "logs", "environments", f"{job.stem}.txt")
        for file in (log, Path(job.path)):
            file.parent.mkdir(parents=True, exist_ok=True)
        told = ["--job", json.dumps(job.told()), "--log", log, "--output", job.path]
        done = subprocess.run([sys.executable, BUILD, *told], capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()[-300:]
    record = read_json(job.path)
    if record["status"] != "ok" and not Path(job.order["folder"], "complete").exists():
        shutil.rmtree(job.order["folder"], ignore_errors=True)
    return None if record["status"] == "ok" else record["reason"]


def does_not_import(side: Side, name: str, implementations: Iterable[str]) -> str | None:
    """Why none of an environment's implementations can be imported; None if one can."""
    python, reason = environments.python(side.plan.environment(name).order), None
    for implementation in dict.fromkeys(implementations):
        file = Path(matrix.implementation_file(implementation)).relative_to(matrix.SCRIPTS)
        code = f"import {'.'.join(file.with_suffix('').parts)}"
        variables = worker_environment("check", 1, "cpu")
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=variables)
        if done.returncode == 0:
            return None
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        reason = reason or f"{implementation} does not import: {said[-1][:300]}"
    return reason


def require_usable(side: Side, names: Iterable[str], cells: Sequence[Cell]) -> None:
    """Build a version's environments and import what runs in them, or say why that cannot be."""
    for name in names:
        own = [cell.implementation for cell in cells if cell.environment == name]
        if own and (problem := build(side, name) or does_not_import(side, name, own)):
            raise Impossible(f"{name}: {problem}")


def measure(side: Side, jobs: Sequence[TimeJob], config: dict) -> None:
    """Let Snakemake make some of a version's results."""
    if not jobs:
        return
    side.put()
    file = FOLDER / "config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(config))
    code = snakemake(str(file), targets=[job.path for job in jobs])
    if code:
        sys.exit(code)


def rounds(old: Side, new: Side) -> Iterator[tuple[Side, list[TimeJob]]]:
    """What is measured one after the other: all that is missing of one version; where both miss something, a process of
    each cell of one, then of the other, and the next ones the other way round."""
    if not (old.missing and new.missing):
        yield from ((side, side.missing) for side in (old, new))
        return
    turns = old.turns(), new.turns()
    for place in range(max(map(len, turns))):
        both = [(side, turn.get(place, [])) for side, turn in zip((old, new), turns, strict=True)]
        yield from both if place % 2 == 0 else reversed(both)


def expected(sides: Iterable[Side]) -> tuple[float, int]:
    """(seconds that all that is missing will take, how many of its cells were never seen)."""
    estimate, seconds, unknown = Estimate(), 0.0, 0
    for side in sides:
        found, strange = total(estimate, with_needed(side.plan, side.missing), side.plan.cores)
        seconds, unknown = seconds + found + (A_RUN if side.missing else 0), unknown + strange
    return seconds, unknown


def announce(old: Side, new: Side, cells: Mapping[Cell, object], files: Iterable[Path]) -> None:
    """Say what becomes stale and how long it takes."""
    console = Console(highlight=False, soft_wrap=True)
    where = ", ".join(pins.names_of(files))
    console.print(f"{where}: {old.version} -> {new.version}, {len(cells)} cells")
    for side in (old, new):
        if side.missing:
            of = len({job.cell for job in side.missing})
            console.print(f"  {side.version}: {len(side.missing)} processes of {of} cells to time")
    seconds, unknown = expected((old, new))
    if not (old.missing or new.missing):
        console.print("  Nothing is missing of either version: nothing is measured.")
        return
    console.print(f"  About {max(seconds / 60, 0.1):.1f} minutes in all.")
    if unknown:
        console.print(f"  Of {unknown} jobs nothing like them was seen before.")


def require_text(side: Side, cells: Iterable[Cell], config: dict) -> bool:
    """Have the text that cells read, where it is not known yet which that is. Returns whether it had to be fetched."""
    if side.plan.corpus.known or not any(side.plan.reads_text(cell.benchmark) for cell in cells):
        return False
    file = FOLDER / "config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(config))
    if code := snakemake(str(file), targets=[side.plan.corpus.source]):
        sys.exit(code)
    return True


def with_processes(config: dict, count: int) -> dict:
    """A configuration in whose plans cells have so many processes."""
    over = {"protocol": {"processes": count, "most_processes": count}}
    documents = {name: over for name, own in config["overrides"].items() if "protocol" in own}
    return configuration.merged(config, over | {"overrides": documents, "preliminary": False})


def prepared(config: dict, both: Sequence[Side], names: list[str], asked: argparse.Namespace):
    """The cells that are compared, and what is missing of both versions. The new one's pins are in place after it."""
    old, new = both
    patterns = [each.strip() for each in asked.cells.split(",")] if asked.cells else ["*"]
    old.planned(config, names, patterns)
    cells = new.planned(config, names, patterns)
    if not cells:
        among = f" among CELLS={asked.cells}" if asked.cells else ""
        raise Impossible(f"the configuration measures no cell in {', '.join(names)}{among}")
    if require_text(new, cells, config):
        return prepared(config, both, names, asked)
    old.choose(cells, asked.again, retry=False)
    new.choose(cells, asked.again, retry=True)
    return cells


def compare(pin: pins.Pin, version: str, config: dict, asked: argparse.Namespace) -> dict:
    """Measure what is missing, and compare. The old pins stand again where the new ones cannot be had."""
    files = pins.files_with(pin.package, asked.within)
    old, new = both = sides(pin, version, files, asked.since)
    names = pins.names_of(files)
    try:
        cells = prepared(config, both, names, asked)
        announce(old, new, dict.fromkeys(cells), files)
        require_usable(new, names, cells)
        if old.missing:
            old.put()
            require_usable(old, names, cells)
            new.put()
    except BaseException:
        for file, text in files.items():
            file.write_text(text)
        raise
    write_json(str(note_of(pin.package)), {"before": old.version, "after": new.version})
    most = max(job.process for side in both for jobs in side.jobs.values() for job in jobs)
    try:
        for side, jobs in rounds(old, new):
            measure(side, jobs, with_processes(config, most))
    finally:
        new.put()
    return bumps.comparison(
        pin.package,
        bumps.Version(old.version, old.records(), old.environments(names)),
        bumps.Version(new.version, new.records(), new.environments(names)),
        asked.relevant / 100,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pin", help="package==version; package, or an environment, for its newest")
    parser.add_argument("--configfile", required=True)
    parser.add_argument("--config", nargs="*", default=[])
    parser.add_argument("--in", dest="within", help="the one environment to bump, for older ones")
    parser.add_argument("--from", dest="since", help="version to compare with, not that of envs/")
    parser.add_argument("--cells", help="the rows to watch, as in `overrides`, commas between")
    parser.add_argument("--again", action="store_true", help="measure both versions, in turn")
    parser.add_argument("--relevant", type=float, default=3, help="smallest change to name (%%)")
    parser.add_argument("--fail", action="store_true", help="exit status 1 if it is worse")
    asked = parser.parse_args()
    require_alone()
    try:
        config = configuration.given(asked.configfile, asked.config)
        pin = pins.Pin.read(asked.pin)
        version = pin.version or newest(pin, config, asked.within)
        found = compare(pin, version, config, asked)
    except Impossible as problem:
        stop(f"{asked.pin}: {str(problem).rstrip('.')}. The old pin stands.")
    except SystemExit as problem:
        stop(problem.code)
    output = FOLDER / f"{pins.known_as(pin.package)}-{found['before'].version}-{version}.md"
    page.write(output, bumps.rendered(found))
    print(f"{found['title']}\nPage: {output.with_suffix('.html')} (and .md)")
    if found["regressions"]:
        print("Worse:", *found["regressions"], sep="\n  ", file=sys.stderr)
        sys.exit(1 if asked.fail else 0)


def stop(said: object) -> NoReturn:
    """End with 2, as 1 says that the new version is worse."""
    if isinstance(said, str):
        print(said, file=sys.stderr)
    sys.exit(2)


def newest(pin: pins.Pin, config: dict, within: str | None) -> str:
    """The newest version there is for the first environment that pins a package."""
    name = pins.names_of(pins.files_with(pin.package, within))[0]
    return pins.newest(pin.package, name, environments.here(name, config, conda=False))


if __name__ == "__main__":
    main()
