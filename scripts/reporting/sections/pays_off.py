"""When compiling pays off, in a row a compiled row and phase, over all shapes."""

from collections.abc import Iterable, Mapping

from plan import matrix
from reporting.sections import Tables, break_even

NOW = "now"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"machine", "name", "other_name", "phase", "device", "shapes", "pays", "gain", "low", "high"}]}"""
    found = break_even.analyse(tables, about)
    groups: dict[tuple, list[dict]] = {}
    for row in (found or {"rows": []})["rows"]:
        if matrix.generation(row["environment"]) == NOW:
            key = ("machine", "name", "other_name", "phase", "device")
            groups.setdefault(tuple(row[name] for name in key), []).append(row)
    rows = []
    for (machine, name, other, phase, device), own in groups.items():
        row = {"machine": machine, "name": name, "other_name": other, "phase": phase}
        row |= {"device": device, "shapes": len(own), "pays": _words(own)}
        first = own[0] if len(own) == 1 else {}
        rows.append(row | {key: first.get(key) for key in ("gain", "low", "high")})
        if len(own) > 1:
            rows[-1]["range"] = (
                f"{min(r['gain'] for r in own):.2f} to {max(r['gain'] for r in own):.2f}"
            )
        rows[-1]["document"] = about["name"]
    return {"rows": rows} if rows else None


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
