"""The one way in which files of report/ become text."""

from pathlib import Path

import jinja2

FOLDER = Path("report")


def cell(text: object) -> str:
    """Text that a table's cell can hold."""
    return str(text).replace("|", "\\|").replace("\n", " ")


def environment(folder: Path = FOLDER) -> jinja2.Environment:
    """Templates that stop at a name nobody gave them; the filter `cell` is in all."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["cell"] = cell
    return found
