"""`make docs`: replace the book's report, which Sphinx built from Markdown to check its links, by the report's own HTML pages
from `make example-pages`.

python scripts book_reports SITE
"""

import re
import sys
from pathlib import Path

from measurement.record import plainly

RENDERED, IN_THE_BOOK = Path("build/pages/example"), "report/example"
PACKAGE = re.compile("<code>(?:pip install ./)?packages/recurrent_cells</code>")
LINKED = r'<a href="{}how-to/recurrent-cells.html">\g<0></a>'
NAVIGATION = '<nav aria-label="Pages">'
BOOK = '\n<p><a href="{}index.html">The book</a></p>\n'


def main() -> None:
    site = Path(sys.argv[1], IN_THE_BOOK)
    for path in RENDERED.rglob("*.html"):
        inside = path.relative_to(RENDERED)
        up = "../" * (len(inside.parts) + 1)
        text = path.read_text(encoding="utf-8").replace(NAVIGATION, NAVIGATION + BOOK.format(up), 1)
        (site / inside).parent.mkdir(parents=True, exist_ok=True)
        (site / inside).write_text(PACKAGE.sub(LINKED.format(up), text))


if __name__ == "__main__":
    plainly(main)
