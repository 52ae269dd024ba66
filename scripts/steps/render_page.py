"""One document's page from its sections."""

import argparse
from pathlib import Path

from measurement.record import plainly, read_json
from plan import own
from reporting import page, pages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", required=True, help="sections.json")
    parser.add_argument("--output", required=True, type=Path, help="the page; HTML beside it")
    parser.add_argument("--documents", nargs="*", default=[], help="all that the report has")
    arguments = parser.parse_args()
    found = read_json(arguments.sections)
    figures = f"figures/{found['name']}"
    text = page.markdown(found["title"], found, found["parts"], figures)
    # A cell of somebody's own is measured apart: there need not be other pages.
    alone = found["name"].startswith(own.DOCUMENT)
    site = () if alone else pages.site(arguments.documents or [found["name"]])
    page.write(arguments.output, text, site)


if __name__ == "__main__":
    plainly(main)
