"""Sphinx on what docs/book.py puts together: every link has to lead somewhere, nothing is fetched from elsewhere."""

project = html_title = "What does flexibility cost?"
extensions = ["myst_parser"]
myst_heading_anchors = 4  # as GitHub has them
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["book.css"]
html_copy_source = False
html_show_copyright = False
