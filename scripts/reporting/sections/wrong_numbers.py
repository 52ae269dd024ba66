"""Published numbers that are wrong and matter, for the first page."""

from collections.abc import Iterable, Mapping

from reporting.sections import Tables, contradictions


def analyse(tables: Tables, about: Mapping) -> dict | None:
    found = contradictions.analyse(tables, about)
    return {"rows": found["rows"]} if found and found["rows"] else None


def merge(parts: Iterable[Mapping]) -> dict:
    """{"total", "matter": rows that are wrong by more than rounding, those that change a verdict first}"""
    rows = [row for part in parts for row in part["rows"]]
    matter = [row for row in rows if row["consequence"] != "rounding"]
    matter.sort(key=lambda row: (row["consequence"] != "verdict", -row["size"]))
    return {"total": len(rows), "matter": matter}
