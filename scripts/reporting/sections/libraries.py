"""How rows compare with libraries and ceilings, over all shapes of a kind."""

from collections.abc import Mapping

from reporting import relations
from reporting.relations import COLUMNS
from reporting.sections import Tables

TITLE = "All shapes at once"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"machine", "name", "group", "shapes", and of each relation its mean and worst, with intervals}]}, of
    LSTMs: a ceiling is none."""
    cells, found = tables.cells, []
    ceilings = set(cells.loc[cells["family"] == "ceiling", "implementation"])
    for entry in relations.summary(cells):
        if entry["implementation"] in ceilings or not any(column in entry for column in COLUMNS):
            continue
        row = {key: entry[key] for key in ("machine", "device", "group", "shapes")}
        row["name"] = about["names"][entry["implementation"]]
        for column in COLUMNS:
            row |= {f"{column}_{key}": value for key, value in entry.get(column, {}).items()}
        found.append(row)
    return {"rows": found} if found else None
