"""How many lines a cell takes in each framework, counted from the files."""

from collections.abc import Mapping

from reporting.sections import Tables
from reporting.style import LOOKS
from reporting.words import CELLS


def analyse(tables: Tables, about: Mapping, base: str) -> dict | None:
    """{"rows": [{"cell", framework: "lines (others than the base's)"}], "columns": [[name, framework]]}"""
    measured = {name.split("/")[0] for name in tables.cells["implementation"]}
    counts = {name: own for name, own in about["cell_lines"].items() if name in measured}
    if not counts:
        return None
    rows = [
        {"cell": called}
        | {
            framework: f"{own[cell]['lines']} ({own[cell]['other']})"
            for framework, own in counts.items()
            if cell in own
        }
        for cell, called in CELLS.items()
    ]
    names = [[LOOKS[name].name if name in LOOKS else name, name] for name in counts]
    return {"rows": rows, "columns": names, "base": CELLS[base]}
