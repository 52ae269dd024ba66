"""Rows held to an instruction set that their processor has more than: what it takes from each, and whether another row is
then the fastest."""

from collections.abc import Mapping

import pandas as pd

from reporting import marks
from reporting.sections import OK, Tables, refused, rows
from stats import estimates

TITLE = "What the instruction set changes"
PLACE = ["machine", "benchmark", "phase", "device"]


def held(about: Mapping) -> dict[str, str]:
    """{benchmark: instruction set} of the document's benchmarks that are held to one."""
    shapes = about["document"]["benchmarks"]
    return {name: shape["isa"] for name, shape in shapes.items() if "isa" in shape}


def analyse(tables: Tables, about: Mapping, short: bool = False) -> dict | None:
    """{"rows": [{"machine", "isa", "name", "style", "phase", "device", "own_s": as the processor is, "wall_median_s": held,
    "ratio_to_baseline" of them with `_low`, `_high` and `_mark`, "own" and "held": over the fastest row of either, with intervals}],
    "best": [{"machine", "isa", "phase", "device", "own", "held": names of the fastest, "next": the next one held, "over": over
    the fastest held, with `_low`, `_high` and `_mark`, "rows": how many are held}], "refused": as `refused` says}; short: the best
    alone"""
    sets = held(about)
    asked = tables.cells[tables.cells["benchmark"].isin(list(sets))]
    asked = asked[asked["flexibility"].notna()]
    beyond = refused(asked, about)
    baselines = {name: about["document"]["benchmarks"][name]["baseline"] for name in sets}
    found, best = [], []
    for _, cells in asked[asked["status"] == OK].groupby(PLACE, sort=False):
        cells = cells.assign(isa=cells["benchmark"].map(sets).str.upper())
        native = _natives(tables, cells, baselines)
        pairs = [each for each in cells.to_dict("records") if _key(each) in native]
        if not pairs:
            continue
        pairs.sort(key=lambda row: row["wall_median_s"])
        fastest = {
            "held": pairs[0],
            "own": min(native.values(), key=lambda row: row["wall_median_s"]),
        }
        best.append({key: pairs[0][key] for key in ("machine", "isa", "phase", "device")})
        best[-1] |= {column: row["name"] for column, row in fastest.items()}
        after = pairs[1] if len(pairs) > 1 else pairs[0]
        best[-1] |= {"next": after["name"], "rows": len(pairs)} | _over("over", after, pairs[0])
        for row in pairs:
            beside = native[_key(row)]
            entry = row | {"own_s": beside["wall_median_s"], "style": row["flexibility"]}
            entry |= _over("held", row, fastest["held"]) | _over("own", beside, fastest["own"])
            entry["ratio_to_baseline_mark"] = marks.beside(row, beside)
            # The row's own stands beside the time it is of, not beside the first.
            entry |= {"mark": "", "own_s_mark": beside["mark"], "wall_median_s_mark": row["mark"]}
            found.append(entry)
    if not found and not beyond:
        return None
    if short:
        return {"rows": [], "best": best, "refused": []} if best else None
    ends = ("", "_low", "_high", "_mark")
    columns = ["machine", "isa", "name", "environment", "style", "phase", "device", "own_s"]
    columns += [
        "wall_median_s",
        *(f"{of}{end}" for of in ("ratio_to_baseline", "own", "held") for end in ends),
    ]
    return {
        "rows": rows(pd.DataFrame(found), *columns) if found else [],
        "best": best,
        "refused": beyond,
    }


def _key(row: Mapping) -> tuple:
    return row["implementation"], row["environment"]


def _natives(
    tables: Tables, cells: pd.DataFrame, baselines: Mapping[str, str]
) -> dict[tuple, dict]:
    """{(implementation, environment): the row as the processor is} of what stands beside rows of one place."""
    place = cells.iloc[0]
    equal = {key: place[key] for key in ("machine", "phase", "device")}
    beside = tables.measured(benchmark=baselines[place["benchmark"]], **equal)
    held = {_key(row) for row in cells.to_dict("records")}
    return {_key(row): row for row in beside.to_dict("records") if _key(row) in held}


def _over(name: str, row: Mapping, best: Mapping) -> dict:
    """A row's time over the fastest one's, with its interval; of that one itself 1, without."""
    if _key(row) == _key(best):
        return {name: 1.0, f"{name}_low": None, f"{name}_high": None, f"{name}_mark": row["mark"]}
    return estimates.over(row, best, name)
