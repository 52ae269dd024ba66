"""Files that are made of others, harmed while nothing measures: a plain run makes each as it was, and measures nothing."""

import json
import os
import re
from collections.abc import Callable

from measurement.record import write_sealed

from .data import MADE_ANEW, Change, cut, flipped
from .trial import Trial, fault

LISTS = ("manifests/*.json", "documents/*/first.json", "documents/*/processes.json")
TABLES = ("documents/*/cells.parquet", "documents/*/about.json", "cells.csv", "records.zip")
PAGES = (
    *("documents/*/sections.json", "documents/*/summary.json", "report/figures/*/*.svg"),
    *("report/*.md", "report/*.html"),
)
GONE = r"is missing; it is made again\."


def harmed(how: str, patterns: tuple[str, ...], change: Change | None) -> Callable[[Trial], None]:
    """A fault that changes one of the files of some patterns, or deletes it."""

    def harm(trial: Trial) -> None:
        trial.expect_derived()
        file = trial.any_of(trial.random.choice(patterns))
        if change:
            file.write_bytes(change(file.read_bytes(), trial))
        else:
            file.unlink()

    harm.__doc__ = how
    return harm


for what, patterns in (("a list", LISTS), ("a table", TABLES), ("a page", PAGES)):
    for name, how, change, says in (
        ("is cut short", "truncated at a random byte, or to nothing", cut, MADE_ANEW),
        ("has another digit", "one digit changed", flipped, MADE_ANEW),
        ("is deleted", "rm, with all that is made of it there", None, GONE),
    ):
        quick = (what, change) == ("a list", None)
        add = fault(f"{what} {name}", says, times=3, lab="pages", quick=quick)
        add(harmed(how, patterns, change))


def rewritten(trial: Trial, change: Callable[[dict], None]) -> None:
    """The manifest, changed and sealed as if it were right."""
    trial.expect_derived()
    file = trial.any_of("manifests/*.json")
    content = json.loads(file.read_text())
    change(content)
    write_sealed(str(file), content)


MADE_AGAIN = r"Cells: 4 ok"  # what it says at last, of the right records


@fault("two cells' records are exchanged in a list", MADE_AGAIN, lab="pages")
def exchanged(trial: Trial) -> None:
    """and the list sealed anew"""

    def change(content: dict) -> None:
        one, other = (
            cell for cell in content["cells"] if cell["phase"] == "forward" and cell["records"]
        )
        one["records"], other["records"] = other["records"], one["records"]

    rewritten(trial, change)


@fault("a list leaves a measured cell out", MADE_AGAIN, lab="pages")
def left_out(trial: Trial) -> None:
    """as if it had not been measured, and sealed anew"""

    def change(content: dict) -> None:
        cell = next(cell for cell in content["cells"] if cell["records"])
        cell |= {"records": [], "status": "not-run", "reason": "left out"}

    rewritten(trial, change)


@fault("all files are touched", MADE_AGAIN, lab="pages")
def touched(trial: Trial) -> None:
    """in random order"""
    trial.expect_derived()
    files = [file for file in trial.root.rglob("*") if file.is_file()]
    trial.random.shuffle(files)
    for second, file in enumerate(files):
        os.utime(file, (1.7e9 + second, 1.7e9 + second))


@fault("stamps are gone", r"has no stamp of what it was made from; it is made again\.", lab="pages")
def notes_gone(trial: Trial) -> None:
    """rm -r results/stamps"""
    trial.expect_derived()
    for file in trial.path("results/stamps").rglob("*.json"):
        file.unlink()


@fault(
    "a page's template is deleted",
    r"report/page\.md\.j2 is missing, which results/report/.* is made of; put it back\.",
    lab="pages",
    ends=False,
)
def template_gone(trial: Trial) -> None:
    """pages are there: it is no reason to show them as they are"""
    file = trial.path("report/page.md.j2")
    trial.keep(file)
    file.unlink()


@fault(
    "folders lie where something made and its note were",
    r"results/\S+ (is missing|has no stamp of what it was made from); it is made again\.",
    lab="pages",
)
def folders_in_place(trial: Trial) -> None:
    """cells.csv, a page, a list, and their stamps"""
    trial.expect_derived()
    for file in [
        trial.any_of(one) for one in ("cells.csv", "report/*.md", "documents/*/first.json")
    ]:
        note = trial.path(f"results/stamps/{file.relative_to(trial.path('results'))}.json")
        for each in (file, note):
            each.unlink(missing_ok=True)
            each.mkdir()


@fault(
    "planning fails where a list is there",
    r"cannot plan list_\w+: .*Too many levels of symbolic links",
    lab="pages",
    ends=False,
)
def loop_in_place(trial: Trial) -> None:
    """a list that is older than the configuration cannot be read: a loop of links at a record's path"""
    trial.set_protocol(rounds=3, most_rounds=3)
    command = trial.shell().replace("scripts run_workflow", "scripts plan_run --files")
    planned = trial.run(["bash", "-c", command]).splitlines()
    # Of other processes than the first one nothing is asked before the others' records are there.
    records = [each for each in planned if re.search(r"^results/records/.*-cpu-1\.", each)]
    place = trial.path(trial.random.choice(records))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(place.name)
    trial.run_through()
    place.unlink()
