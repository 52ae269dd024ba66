"""`make bump PIN=torch==2.14.0`: write a pin, measure what it makes stale, and render a page of what changed.

Both versions' results lie side by side, as a result's name has its environment's: what is there is not measured again,
and going back to a version measures nothing. Where both versions have something to measure, their processes take turns.

Exit status: 0; with --fail, 1 if the new version is worse; 2 if it cannot be had, and then the old pin stands again.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from commands import run_workflow, unable
from commands.run_workflow import begin, make
from measurement.record import write_json
from plan import configuration, environments, own_shape, pins, versions
from plan.matrix import Measurement
from plan.own_cell import Refused
from plan.usable import Impossible, require_usable
from plan.versions import FOLDER, Side
from reporting import bumps, page


def announce(old: Side, new: Side, cells: int, files: Iterable[Path]) -> None:
    """Say what becomes stale and how long it takes."""
    console = Console(highlight=False, soft_wrap=True)
    where = ", ".join(pins.names_of(files))
    console.print(f"{where}: {old.version} -> {new.version}, {cells} measurements")
    for side in (old, new):
        if side.missing:
            of = len({job.cell for job in side.missing})
            console.print(
                f"  {side.version}: {len(side.missing)} processes of {of} measurements to time"
            )
    seconds, unknown = versions.expected((old, new))
    if not (old.missing or new.missing):
        console.print("  Both versions have all results: nothing to measure.")
        return
    console.print(f"  About {max(seconds / 60, 0.1):.1f} minutes in total.")
    if unknown:
        console.print(f"  Of {unknown} jobs nothing like them was seen before.")


def require_text(side: Side, cells: Iterable[Measurement], config: dict) -> bool:
    """Have the text that cells read, where it is not known yet which that is. Returns whether it had to be fetched."""
    if side.plan.corpus.known or not any(side.plan.reads_text(cell.benchmark) for cell in cells):
        return False
    make(config, [side.plan.corpus.source])
    return True


def prepared(config: dict, both: Sequence[Side], names: list[str], asked: argparse.Namespace):
    """The cells that are compared, and what is missing of both versions. The new one's pins are in place after it."""
    old, new = both
    patterns = [each.strip() for each in asked.rows.split(",")] if asked.rows else ["*"]
    old.planned(config, names, patterns)
    cells = new.planned(config, names, patterns)
    if not cells:
        among = f" among ROWS={asked.rows}" if asked.rows else ""
        known = [cell for name in config["documents"] for cell in new.plan.cells(name)]
        close = "".join(configuration.near_row(each, known) for each in patterns[:1])
        raise Impossible(f"the configuration measures nothing in {', '.join(names)}{among}{close}")
    if require_text(new, cells, config):
        return prepared(config, both, names, asked)
    old.choose(cells, asked.again, retry=False)
    new.choose(cells, asked.again, retry=True)
    if asked.in_turn and not (old.missing and new.missing) and not together(both, names):
        old.choose(cells, True, retry=False)
        new.choose(cells, True, retry=True)
    return cells


def together(both: Sequence[Side], names: list[str]) -> bool:
    """Whether both versions have all their processes, and these took turns."""
    if any(side.missing for side in both):
        return False
    read = [bumps.read(one.version, one.records(), one.environments(names)) for one in both]
    return bumps.age(*read) == "in turn"


def compare(pin: pins.Pin, version: str, config: dict, asked: argparse.Namespace) -> dict:
    """Measure what is missing, and compare. The old pins stand again where the new ones cannot be had."""
    files = pins.files_with(pin.package, asked.within)
    old, new = both = versions.sides(pin, version, files, asked.since)
    names = pins.names_of(files)
    try:
        cells = prepared(config, both, names, asked)
        announce(old, new, len(set(cells)), files)
        require_usable(new, names, cells)
        if old.missing:
            old.put()
            require_usable(old, names, cells)
            new.put()
    except BaseException:
        pins.write(files)
        raise
    write_json(str(versions.note_of(pin.package)), {"before": old.version, "after": new.version})
    while True:
        measure(both, config)
        found = bumps.comparison(
            pin.package,
            bumps.read(old.version, old.records(), old.environments(names)),
            bumps.read(new.version, new.records(), new.environments(names)),
            asked.relevant / 100,
        )
        # Further processes, as the protocol allows them, of what is not decided.
        more = [c for c in cells if c.name in found["undecided"] and new.may_have_another(c)]
        if not more:
            return found
        for side in both:
            side.another(more)


def measure(both: Sequence[Side], config: dict) -> None:
    """Measure what is missing of both versions, in turn. The new one's pins are in place."""
    most = max(job.process for side in both for jobs in side.jobs.values() for job in jobs)
    if targets := [job.path for side in both for job in side.missing]:
        make(versions.beside(versions.with_processes(config, most), both[0]), targets)


def options(description: str) -> argparse.ArgumentParser:
    """What `make bump` and `make history` can be asked for alike."""
    parser = run_workflow.options(description)
    parser.add_argument("--in", dest="within", help="environment to change, for old versions")
    parser.add_argument("--rows", help="measurements, as in `overrides`, separated by commas")
    parser.add_argument("--shape", help="a shape to compare on instead of documents, as YAML")
    parser.add_argument("--relevant", type=float, default=3, help="smallest change to report (%%)")
    return parser


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "pin", help="package==version, or a package or environment for its newest version"
    )
    parser.add_argument(
        "--from", dest="since", help="version to compare with, instead of that in envs/"
    )
    parser.add_argument(
        "--again", action="store_true", help="measure both versions again, alternating"
    )
    parser.add_argument("--fail", action="store_true", help="exit status 1 if it is worse")
    parser.set_defaults(in_turn=False)
    asked = parser.parse_args()
    try:
        begin(asked.parent)
        config = configured(asked)
        pin = pins.Pin.read(asked.pin)
        if asked.since:
            asked.since = pins.Pin.read(f"{pin.package}=={asked.since}").version
        version = pin.version or available(pin.package, config, asked.within)[0]
        found = compare(pin, version, config, asked)
    except Impossible as problem:
        told = str(problem).rstrip(".")
        unable(f"{asked.pin}: {told}{'' if told.endswith('?') else '.'} The old pin is restored.")
    except Refused as problem:
        unable(str(problem))
    except SystemExit as problem:  # 1 says that the new version is worse
        unable(problem.code)
    output = FOLDER / f"{pins.known_as(pin.package)}-{found['before'].version}-{version}.md"
    page.write(output, bumps.rendered(found))
    print(f"{found['title']}\nPage: {output.with_suffix('.html')} (and .md)")
    if found["regressions"]:
        print("Worse:", *found["regressions"], sep="\n  ", file=sys.stderr)
        sys.exit(1 if asked.fail else 0)


def configured(asked: argparse.Namespace) -> dict:
    """The configuration, of a shape's document where one is asked for."""
    settings = list(asked.config)
    if asked.shape:
        settings.append(f"documents=[{own_shape.write(asked.shape)}]")
    return configuration.given(asked.configfile, settings)


def available(package: str, config: dict, within: str | None) -> list[str]:
    """The versions there are for the first environment that pins a package, the newest first."""
    name = pins.names_of(pins.files_with(package, within))[0]
    return pins.available(package, name, environments.here(name, config, conda=False))


if __name__ == "__main__":
    main()
