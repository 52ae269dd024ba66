"""One document's page from its sections."""

import argparse
from pathlib import Path

from measurement.record import plainly, read_json
from plan import own
from reporting import page, pages, words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", required=True, help="sections.json")
    parser.add_argument("--output", required=True, type=Path, help="the page; HTML beside it")
    parser.add_argument("--documents", required=True, nargs="+", help="all that the report has")
    parser.add_argument("--about", required=True, help="about.json: which machines have it")
    parser.add_argument("--machine", default="", help="whose page; this run's unless given")
    arguments = parser.parse_args()
    found = read_json(arguments.sections)
    about = read_json(arguments.about)
    machines = words.machines((each["machine"], each["facts"]) for each in about["machines"])
    machine = arguments.machine or next(iter(machines))
    figures = f"figures/{found['name']}"
    text = page.markdown(found["title"], found, found["parts"], figures)
    # A cell of somebody's own is measured apart: there need not be other pages.
    alone = found["name"].startswith(own.DOCUMENT)
    own_pages = machine == next(iter(machines))
    site = () if alone else pages.site(arguments.documents, len(machines), own_pages)
    switch = pages.switch(machines, machine, found["name"])
    page.write(arguments.output, text, site, switch)


if __name__ == "__main__":
    plainly(main)
