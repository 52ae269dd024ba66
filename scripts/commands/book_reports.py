"""`make docs`: the report in the book as its readers have it, in HTML with figures for wide and narrow screens, light and
dark, as `make example-pages` left it. It takes the place of the pages that Sphinx made of its markdown, which it has held
links against.

python scripts book_reports SITE
"""

import sys
from pathlib import Path

from measurement.record import plainly

RENDERED, IN_THE_BOOK = Path("build/pages/example"), "report/example"
NAVIGATION = '<nav aria-label="Pages">'
BOOK = '\n<p><a href="../../index.html">The book</a></p>\n'


def main() -> None:
    site = Path(sys.argv[1], IN_THE_BOOK)
    for path in RENDERED.glob("*.html"):
        shown = path.read_text().replace(NAVIGATION, NAVIGATION + BOOK, 1)
        (site / path.name).write_text(shown)


if __name__ == "__main__":
    plainly(main)
