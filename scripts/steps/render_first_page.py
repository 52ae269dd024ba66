"""The pages that are about all documents: the first page with the explorer, machines, and what each document adds to others."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from measurement.record import plainly, read_json
from reporting import (
    blocks,
    explorer,
    front,
    front_page,
    machine_comparison,
    page,
    pages,
    sections,
    summary,
    talks,
    words,
)
from reporting.measured import Measured
from reporting.sections import machines as machine_section

VERDICTS = (
    "*A to B* is the time of A divided by that of B: below 1, A is faster. *Holds*, *does not hold*: decided by the 95 % intervals of "
    "all ratios; *likely*: preliminary, from too few undisturbed processes; *undecided*: an interval contains the stated bound, or "
    "there is no interval. Of several ratios: the smallest and the largest. Statements are about the "
    "implementations that the document compares. Of ratios to *the fastest* of several the interval allows for the choice, and is wider."
)

HOW = (
    "*In turns*: implementations stay loaded and take short looks in rounds, in random order, so that a slow moment of the machine meets all "
    "of them. *Process by process*: one after the other, which tells less of their ratios. Intervals of 95 % come from how much "
    "looks, rounds and processes of the same implementation differ."
)
INTRODUCTIONS = {"findings": VERDICTS, "claims": VERDICTS, "machine": HOW}


def placed(summaries: Sequence[Mapping], name: str) -> list[dict]:
    """The parts of a page of all documents, each document's below its title, with the folder of its figures."""
    found = []
    for each in summaries:
        own = each["pages"].get(name, [])
        if own:
            head = {"kind": "heading", "text": each["title"], "level": 2}
            found.append({"blocks": [head]})
        for part in own:
            below = [_lower(block, f"figures/{each['name']}") for block in part["blocks"]]
            found.append(part | {"blocks": below})
    return found


def _lower(block: Mapping, folder: str) -> dict:
    """A block below a document's title."""
    if block["kind"] == "heading":
        return {**block, "level": max(3, block["level"])}
    return {**block, "folder": folder} if block["kind"] == "figure" else {**block}


def names_of(abouts: Sequence[Mapping]) -> dict[str, str]:
    """{machine: what pages call it} of those that a report is about, this run's first."""
    facts: dict[str, Mapping | None] = {}
    for machine in (machine for each in abouts for machine in each["machines"]):
        # A document of which nothing was measured knows none.
        facts[machine["machine"]] = facts.get(machine["machine"]) or machine["facts"]
    return words.machines(facts.items())


def first_page(
    arguments: argparse.Namespace,
    names: Mapping[str, str],
    summaries: Sequence[Mapping],
    site: page.Site,
) -> None:
    """index.md and index.html, the figures for talks, and of this run's machine the comparison with others."""
    shown = arguments.machine
    own = shown == next(iter(names))
    only = "" if own else shown  # this run's page has the numbers of all
    parts = [
        sections.read(pd.read_parquet(cells), read_json(about), only)
        for cells, about in zip(arguments.cells, arguments.abouts, strict=True)
    ]
    settings = pages.settings()["first_page"]
    measured = Measured(parts, shown, settings)
    figures = talks.write(measured, names[shown], arguments.folder / front_page.FIGURES)
    front_page.write(
        arguments.folder,
        front.front(measured, summaries),
        figures,
        explorer.data(parts),
        site,
        pages.switch(names, shown, front_page.NAME),
        front_page.of_own_cells(arguments.own),
    )
    if own and len(names) > 1:
        compared = [
            machine_comparison.Machine(
                called,
                f"{'' if each == shown else pages.folder(each) + '/'}index.html",
                measured if each == shown else Measured(parts, each, settings),
            )
            for each, called in names.items()
        ]
        machine_comparison.write(arguments.folder, compared, site)


def other_pages(
    arguments: argparse.Namespace,
    names: Mapping[str, str],
    summaries: Sequence[Mapping],
    site: page.Site,
) -> None:
    """Those of sections."""
    about: dict = {"preliminary": any(each["preliminary"] for each in summaries)}
    stand_in = summary.on_stand_in({each["name"]: each["machines"] for each in summaries})
    own = blocks.as_data(machine_section.write(summaries))
    found = {
        "machine": [{"blocks": own}],
        **{name: placed(summaries, name) for name in pages.gathered()},
    }
    for name, parts in found.items():
        about["introduction"] = [INTRODUCTIONS[name]] if name in INTRODUCTIONS else []
        of_text = name != "contradictions"  # which is about published numbers alone
        about["stand_in"] = stand_in if of_text else ""
        text = page.markdown(pages.settings()["titles"][name], about, parts)
        switch = pages.switch(names, arguments.machine, name)
        page.write(arguments.folder / f"{name}.md", text, site, switch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", required=True, nargs="+", help="cells.parquet of documents")
    parser.add_argument("--abouts", required=True, nargs="+", help="about.json of the same")
    parser.add_argument("--summaries", required=True, nargs="+", help="summary.json of the same")
    parser.add_argument("--machine", default="", help="whose pages; this run's unless given")
    parser.add_argument(
        "--own", type=json.loads, default=[], help="pages of one's own cells, as JSON"
    )
    parser.add_argument("--folder", required=True, type=Path, help="to write the pages to")
    arguments = parser.parse_args()
    names = names_of([read_json(path) for path in arguments.abouts])
    first = next(iter(names))
    arguments.machine = arguments.machine or first
    summaries = [read_json(path) for path in arguments.summaries]
    documents = [each["name"] for each in summaries]
    site = pages.site(documents, len(names), arguments.machine == first)
    first_page(arguments, names, summaries, site)
    other_pages(arguments, names, summaries, site)


if __name__ == "__main__":
    plainly(main)
