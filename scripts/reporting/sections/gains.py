"""How many times faster each style became over the years, and how much of that its library's products did."""

from collections.abc import Mapping

from reporting import marks, timeline
from reporting.sections import Tables
from reporting.style import look
from reporting.timeline import CEILING
from stats import estimates


def _gain(first: list[dict], last: list[dict]) -> dict:
    """Times faster from the first points to the last ones: {"ratio", "low", "high", "verdict", "mark"}, of a product of two."""
    found = estimates.ratio([point["times"] for point in first], [point["times"] for point in last])
    ends = {"low": found.low, "high": found.high}
    return {**found._asdict(), **ends, "mark": marks.beside(*first, *last)}


def analyse(tables: Tables, about: Mapping, benchmark: str, phase: str) -> dict | None:
    """{"frameworks": [{"machine", "device", "name", "since", "then", "now", "products" (of its longest row), "rows"}], "rows":
    of each style and framework its first and last year: "gain", of its library's
    products in the same two environments "products", and what is left of it "style"; "ratio", "low", "high" and "mark" each}"""
    found = list(timeline.lines(tables.measured(benchmark=benchmark, phase=phase), about))
    places = ("machine", "device", "framework")
    ceilings = {
        tuple(line[place] for place in places): {p["environment"]: p for p in line["points"]}
        for line in found
        if line["level"] == CEILING
    }
    rows = []
    for line in found:
        if line["level"] == CEILING:
            continue
        first, last = line["points"][0], line["points"][-1]
        row = {key: line[key] for key in (*places, "name", "level")}
        row["framework_name"] = look(line["implementation"]).name
        row |= {"since": first["year"], "then": first["version"], "now": last["version"]}
        row |= {"gain": _gain([first], [last]), "products": None, "style": None}
        products = ceilings.get(tuple(line[place] for place in places), {})
        if {first["environment"], last["environment"]} <= products.keys():
            then, now = products[first["environment"]], products[last["environment"]]
            row |= {"products": _gain([then], [now]), "style": _gain([first, now], [last, then])}
        rows.append(row)
    if not rows:
        return None
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault(tuple(row[place] for place in places), []).append(row)
    return {
        "frameworks": [_framework(own) for own in groups.values()],
        "rows": rows,
        "phase": phase,
    }


def _framework(rows: list[dict]) -> dict:
    """What the rows of a framework have in common, by the one that goes back furthest."""
    longest = min(rows, key=lambda row: (row["since"], row["products"] is None))
    kept = ("machine", "device", "since", "then", "now", "products")
    return {"name": longest["framework_name"], **{key: longest[key] for key in kept}, "rows": rows}
