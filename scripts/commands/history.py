"""`make history PACKAGE=onnxruntime SINCE=1.18`: the releases of a package, each beside the one before, and where times changed.

Of every minor release the last patch is measured. Two neighbours take turns, so that what the machine does meanwhile meets both; what
took turns already is not measured again. The pins of envs/ stand again at the end.

Exit status: 0; 2 if fewer than two releases can be had.
"""

import argparse
import sys
from pathlib import Path

from commands import unable
from commands.bump_version import available, compare, configured, options
from commands.run_workflow import begin
from plan import pins
from plan.jobs import RESULTS
from plan.own_cell import Refused
from plan.usable import Impossible
from reporting import histories, page

FOLDER = Path(RESULTS, "history")


def measured(asked: argparse.Namespace, config: dict) -> Path | None:
    """Compare neighbours, the oldest first, with the page after each; the page."""
    files = pins.files_with(asked.package, asked.within)
    versions = pins.releases(available(asked.package, config, asked.within), asked.since)
    if len(versions) < 2:
        unable(
            f"SINCE={asked.since}: {asked.package} has {len(versions)} releases since; give an older one."
        )
    print(f"{asked.package}: {', '.join(versions)}", flush=True)
    steps, skipped, output = [], {}, None
    last, *rest = versions
    try:
        for version in rest:
            asked.since = last
            try:
                steps.append(compare(pins.Pin(asked.package, version), version, config, asked))
            except Impossible as problem:
                lost = problem.version or version
                skipped[lost] = str(problem)
                print(f"{lost} is left out: {problem}", file=sys.stderr, flush=True)
                last = version if lost == last else last
                continue
            last = version
            output = FOLDER / f"{pins.known_as(asked.package)}.md"
            page.write(output, histories.rendered(asked.package, steps, skipped))
    finally:
        pins.write(files)
    return output


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("package")
    parser.add_argument("--since", required=True, help="the oldest version")
    parser.set_defaults(again=False, in_turn=True)
    asked = parser.parse_args()
    try:
        begin(asked.parent)
        if not asked.package or not pins.Pin.read(f"{asked.package}=={asked.since}").version:
            unable("Name a package and its oldest version: make history PACKAGE=torch SINCE=2.8")
        output = measured(asked, configured(asked))
    except (Impossible, Refused) as problem:
        unable(str(problem))
    except SystemExit as problem:
        unable(problem.code)
    if output is None:
        unable(f"{asked.package}: fewer than two releases could be measured.")
    print(f"Page: {output.with_suffix('.html')} (and .md)")


if __name__ == "__main__":
    main()
