"""The pages that are about all documents, from their summaries: the first page, machines, and what each adds to others."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from measurement.record import plainly, read_json
from reporting import page, pages, sections, summary

BACK = "Of all documents."


def merged(parts: Sequence[Mapping]) -> Iterator[dict]:
    """Parts of several documents under one heading; those of a section that can `merge` become one, at its place."""
    groups: dict[object, list[Mapping]] = {}
    for number, part in enumerate(parts):
        merges = hasattr(sections.load(part["section"]), "merge")
        groups.setdefault(part["section"] if merges else number, []).append(part)
    for those in groups.values():
        first = dict(those[0])
        if hasattr(sections.load(first["section"]), "merge"):
            first["data"] = sections.load(first["section"]).merge([part["data"] for part in those])
        yield first


def placed(summaries: Sequence[Mapping], name: str) -> list[dict]:
    """The parts of a page of all documents, in their order, with the folders of their figures."""
    return [
        part | {"folder": f"figures/{each['name']}"}
        for each in summaries
        for part in each["pages"].get(name, [])
    ]


def first_page(summaries: Sequence[Mapping]) -> list[dict]:
    """The parts of the first page, the first under each heading with it."""
    parts, found = placed(summaries, "first_page"), []
    for heading in pages.settings()["first_page"]:
        own = list(merged([part for part in parts if part["under"] == heading["name"]]))
        for number, part in enumerate(own):
            found.append(part | {"title": "" if number else heading["heading"]})
    return found


def of_own_cells(found: Sequence[Mapping]) -> list[str]:
    """Lines that lead to the pages of cells of somebody's own."""
    return [
        f"A cell of your own: [{each['document']}]({each['document']}.md). {each['said']}".strip()
        for each in found
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--summaries", required=True, nargs="+", help="summary.json of documents")
    parser.add_argument(
        "--own", type=json.loads, default=[], help="pages of one's own cells, as JSON"
    )
    parser.add_argument("--folder", required=True, type=Path, help="to write the pages to")
    arguments = parser.parse_args()
    summaries = [read_json(path) for path in arguments.summaries]
    about = {
        "machine_names": summary.machine_names(summaries),
        "preliminary": any(each["preliminary"] for each in summaries),
        "documents": summaries,
    }
    machines = sections.load("machines").of_summaries(summaries)
    found = {
        "index": first_page(summaries),
        "machines": [{"section": "machines", "title": "", "data": machines, "figure": None}],
        **{name: list(merged(placed(summaries, name))) for name in pages.gathered()},
    }
    site = pages.site(each["name"] for each in summaries)
    machines_of = {each["name"]: each["machines"] for each in summaries}
    stand_in = summary.on_stand_in(machines_of, about["machine_names"])
    for name, parts in found.items():
        about["stand_in"] = (
            "" if name == "contradictions" else stand_in
        )  # of published numbers alone
        own = of_own_cells(arguments.own)
        about["introduction"] = [summary.of_all(summaries), *own] if name == "index" else [BACK]
        text = page.markdown(pages.settings()["titles"][name], about, parts)
        page.write(arguments.folder / f"{name}.md", text, site)


if __name__ == "__main__":
    plainly(main)
