"""The pages that are about all documents: the first page with the explorer, machines, and what each document adds to others."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from measurement.record import plainly, read_json
from reporting import blocks, explorer, front, front_page, page, pages, sections, summary, talks


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


def first_page(arguments: argparse.Namespace, summaries: Sequence[Mapping]) -> None:
    """index.md and index.html, and the figures for talks."""
    parts = [
        sections.read(pd.read_parquet(cells), read_json(about))
        for cells, about in zip(arguments.cells, arguments.abouts, strict=True)
    ]
    machine = next(each["machine"] for one in summaries for each in one["machines"])
    settings = pages.settings()["first_page"]
    measured = front.Measured(parts, machine, settings)
    called = summary.machine_names(summaries, in_full=True)[machine]
    figures = talks.write(measured, called, arguments.folder / front_page.FIGURES)
    front_page.write(
        arguments.folder,
        front.front(measured, summaries),
        figures,
        explorer.data(parts),
        pages.site(each["name"] for each in summaries),
        front_page.of_own_cells(arguments.own),
    )


def other_pages(folder: Path, summaries: Sequence[Mapping]) -> None:
    """Those of sections."""
    names = summary.machine_names(summaries)
    about = {"machine_names": names, "documents": summaries, "introduction": []}
    about["preliminary"] = any(each["preliminary"] for each in summaries)
    stand_in = summary.on_stand_in({each["name"]: each["machines"] for each in summaries}, names)
    section = sections.load("machines")
    machines = blocks.as_data(section.write(section.of_summaries(summaries)))
    found = {
        "machines": [{"blocks": machines}],
        **{name: placed(summaries, name) for name in pages.gathered()},
    }
    site = pages.site(each["name"] for each in summaries)
    for name, parts in found.items():
        of_text = name != "contradictions"  # which is about published numbers alone
        about["stand_in"] = stand_in if of_text else ""
        text = page.markdown(pages.settings()["titles"][name], about, parts)
        page.write(folder / f"{name}.md", text, site)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", required=True, nargs="+", help="cells.parquet of documents")
    parser.add_argument("--abouts", required=True, nargs="+", help="about.json of the same")
    parser.add_argument("--summaries", required=True, nargs="+", help="summary.json of the same")
    parser.add_argument(
        "--own", type=json.loads, default=[], help="pages of one's own cells, as JSON"
    )
    parser.add_argument("--folder", required=True, type=Path, help="to write the pages to")
    arguments = parser.parse_args()
    summaries = [read_json(path) for path in arguments.summaries]
    first_page(arguments, summaries)
    other_pages(arguments.folder, summaries)


if __name__ == "__main__":
    plainly(main)
