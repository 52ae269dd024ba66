"""One document's sections from its tables: data and figures of its own page, and what it adds to the others."""

import argparse
from pathlib import Path

import pandas as pd

from measurement.record import plainly, read_json, whole
from reporting import pages, results, sections, style, summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", required=True, help="cells.parquet")
    parser.add_argument("--about", required=True, help="about.json")
    parser.add_argument("--sections", required=True, help="sections.json, to write")
    parser.add_argument("--summary", required=True, help="summary.json, to write")
    parser.add_argument("--figures", required=True, type=Path, help="folder to draw into")
    parser.add_argument("--machine", default="", help="whose numbers; this run's unless given")
    arguments = parser.parse_args()
    read = read_json(arguments.about)
    machine = arguments.machine or read["machines"][0]["machine"]
    tables, about = sections.read(pd.read_parquet(arguments.cells), read, machine)
    arguments.figures.mkdir(parents=True, exist_ok=True)

    def save(name: str, figure) -> None:
        (arguments.figures / name).write_text(style.svg(figure))

    own = list(sections.analysed(about["document"]["sections"], tables, about, save))
    added = {
        page: list(sections.analysed(entries, tables, about, save))
        for page, entries in pages.added(about["document"]).items()
    }
    head = summary.head(tables, about)
    with whole(arguments.sections) as stream:
        stream.write(results.dump({**head, "parts": own}))
    with whole(arguments.summary) as stream:
        stream.write(results.dump({**head, "pages": added}))


if __name__ == "__main__":
    plainly(main)
