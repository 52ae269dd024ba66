"""Sphinx on what docs/book.py puts together: every link has to lead somewhere, nothing is fetched from elsewhere."""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

project = html_title = "What does flexibility cost?"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "packages/recurrent_cells/src"))
autodoc_mock_imports = ["numpy", "torch"]  # not needed to read docstrings
autodoc_typehints = "description"
default_role = "code"  # docstrings are Markdown
myst_heading_anchors = 4  # as GitHub has them
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["book.css"]
html_copy_source = False
html_show_copyright = False
# What the theme leaves out for those who hear a page or have no mouse.
HEARD = {
    r'<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    r'<aside class="toc-drawer([^"]*)">': r'<aside class="toc-drawer\1" aria-label="On this page">',
    r'<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    r'<th class="head([^"]*)"><p></p></th>': r'<td class="head\1"></td>',
    r"<pre>": '<pre tabindex="0">',
    r'<div class="table-wrapper([^"]*)">': r'<div class="table-wrapper\1" tabindex="0">',
    r'(<article role="main" id="furo-main-content">\s*)(?=<noscript>)': r"\1<h1>Search</h1>",
}


def heard(app: Sphinx, error: Exception | None) -> None:
    for path in Path(app.outdir).rglob("*.html"):
        text = before = path.read_text()
        for pattern, mended in HEARD.items():
            text = re.sub(pattern, mended, text)
        if text != before:
            path.write_text(text)


def setup(app: Sphinx) -> None:
    app.connect("build-finished", heard)
