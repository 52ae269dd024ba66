"""`make docs`: the reports in the book as their readers have them, in HTML with figures for wide and narrow screens, light and
dark. They take the place of the pages that Sphinx made of their markdown, which it has held links against. A report whose
records are in the repository comes as `make example-pages` left it, others are made of their markdown.

python scripts book_reports SITE
"""

import re
import sys
from pathlib import Path

import pandas as pd

from measurement.record import plainly
from plan import matrix
from reporting import page, pages
from steps.join_tables import searchable

REPORTS, RENDERED = Path("report"), Path("build/pages")
LISTED = re.compile(r"^(?:\*\*First page\*\*|\[First page\]\(index\.md\)) · .*\n\n", re.M)
NAVIGATION = '<nav aria-label="Pages">'
BOOK = '\n<p><a href="../../index.html">The book</a></p>\n'


def made(report: Path) -> dict[str, str]:
    """{page: HTML} of a report of which there is markdown only."""
    there = {path.stem for path in report.glob("*.md")} | {"cells"}
    known = pages.site(name for name in matrix.documents() if name in there)
    site = [each for each in known if each["name"] in there]
    found = {}
    for path in report.glob("*.md"):
        text = LISTED.sub("", path.read_text()).replace("(cells.csv)", "(cells.html)")
        found[path.stem] = page.to_html(text, report, site, path.stem)
    cells = searchable(pd.read_csv(report / "cells.csv", low_memory=False))
    template = page.environment().get_template("cells.html.j2")
    return found | {"cells": template.render(cells | {"site": site, "name": "cells"})}


def rendered(report: Path) -> dict[str, str]:
    """{page: HTML} of a report that was rendered of its records."""
    return {path.stem: path.read_text() for path in (RENDERED / report.name).glob("*.html")}


def main() -> None:
    site = Path(sys.argv[1])
    for report in sorted(path.parent for path in REPORTS.glob("*/index.md")):
        of = rendered if (report / "records.tar.xz").exists() else made
        for name, text in of(report).items():
            shown = text.replace(NAVIGATION, NAVIGATION + BOOK, 1)
            (site / report / f"{name}.html").write_text(shown)


if __name__ == "__main__":
    plainly(main)
