"""When compiling pays off, in a row a compiled row and phase, over all shapes."""

from collections.abc import Iterable, Mapping

from plan import matrix
from reporting.layout import interval
from reporting.sections import Tables, break_even

NOW = "now"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"machine", "name", "other_name", "device", "shapes", and of each phase its name: "0.62x: 5"}]}"""
    found = break_even.analyse(tables, about)
    groups: dict[tuple, dict[str, list[dict]]] = {}
    for row in (found or {"rows": []})["rows"]:
        if matrix.generation(row["environment"]) == NOW:
            key = tuple(row[name] for name in ("machine", "name", "other_name", "device"))
            groups.setdefault(key, {}).setdefault(row["phase"], []).append(row)
    rows = []
    for (machine, name, other, device), phases in groups.items():
        row = {"machine": machine, "name": name, "other_name": other, "device": device}
        row["document"] = about["name"]
        rows.append(row | {phase: f"{_gain(own)}: {_words(own)}" for phase, own in phases.items()})
    return {"rows": rows} if rows else None


def _gain(own: list[dict]) -> str:
    """Time over that of the row replaced, with its interval; of several shapes from where to where."""
    if len(own) > 1:
        return f"{min(row['gain'] for row in own):.2f}x to {max(row['gain'] for row in own):.2f}x"
    return f"{own[0]['gain']:.2f}x {interval(own[0]['low'], own[0]['high'])}".strip()


def _words(own: list[dict]) -> str:
    """`3`; of several shapes `68 to 241`, and how many never or not decided."""
    if len(own) == 1:
        return own[0]["pays"]
    pays = sorted(row["batches"] for row in own if row["verdict"] == "pays")
    maybe = sorted(row["batches"] for row in own if row["pays"].startswith("undecided; "))
    never = sum(row["verdict"] == "never" for row in own)
    found = []
    if pays:
        found.append(f"{pays[0]:,} to {pays[-1]:,} ({len(pays)} of {len(own)} shapes)")
    if maybe:
        found.append(f"undecided on {len(maybe)}: about {maybe[0]:,} to {maybe[-1]:,}")
    if never:
        found.append(f"never on {never}")
    return "; ".join(found) or "undecided"


def merge(parts: Iterable[Mapping]) -> dict:
    return {"rows": [row for part in parts for row in part["rows"]]}
