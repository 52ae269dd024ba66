"""How rows compare with libraries and ceilings, over all shapes of a kind."""

from collections.abc import Mapping

from reporting import relations
from reporting.relations import COLUMNS
from reporting.sections import Tables

TITLE = "All shapes at once"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"machine", "name", "group", "shapes", and of each relation its mean and worst}]}"""
    found = []
    for entry in relations.summary(tables.cells):
        if not any(column in entry for column in COLUMNS):
            continue
        row = {key: entry[key] for key in ("machine", "device", "group", "shapes")}
        row["name"] = about["names"][entry["implementation"]]
        for column in COLUMNS:
            known = entry.get(column, {})
            row |= {column: known.get("mean"), f"{column}_worst": known.get("worst")}
        found.append(row)
    return {"rows": found} if found else None
