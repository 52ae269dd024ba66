"""Then and now in a line each."""

from collections.abc import Iterable, Mapping

from reporting.sections import Tables, then_and_now


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": then_and_now's, the largest change first}"""
    found = then_and_now.analyse(tables, about)
    if not found:
        return None
    kept = ("machine", "name", "benchmark", "phase", "device", "environment_then", "ratio")
    kept += (
        "framework_version_then",
        "framework_version_now",
        "low",
        "high",
        "ratio_mark",
        "optimizer",
    )
    rows = [{key: row[key] for key in kept} for row in found["rows"]]
    return {"rows": rows, "documents": [about["name"]]}


def merge(parts: Iterable[Mapping]) -> dict:
    parts = list(parts)
    rows = sorted((row for part in parts for row in part["rows"]), key=lambda row: -row["ratio"])
    names = dict.fromkeys(name for part in parts for name in part["documents"])
    return {"rows": rows, "documents": list(names)}
