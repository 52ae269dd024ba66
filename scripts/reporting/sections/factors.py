"""Two factors apart: what flexibility costs (a row over its own framework's matrix products) and what the framework's
library costs (those products over the machine's multiply-add peak). Their product is the row over the peak."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from plan.matrix import NOW
from reporting import marks
from reporting.layout import FORMATS, percent, within
from reporting.relations import PEAK
from reporting.sections import Tables
from stats import estimates

TITLE = "Two factors: flexibility and the library"
# Whose matrix products a framework's rows call, where its name does not say so.
LIBRARIES = {
    "keras/lstm-tensorflow": "tensorflow",
    "keras/lstm-torch": "pytorch",
    "keras/lstm-jax": "jax",
    "keras/lstm-theano": "theano",
}
KERNELS = (
    "cell kernel",
    "generated kernel",
    "fused kernel",
)  # rows that do not call the framework's products, but multiply themselves
PLACE = ("machine", "name", "environment", "phase", "device")
SLACK = 1.02  # rows above a ceiling by less are at it


def limits(cells: pd.DataFrame) -> dict[tuple, dict]:
    """{(machine, device, phase): the multiply-add peak's row}. A limit is what was reached once: its time is that of its
    fastest process, and no interval is around it."""
    peaks = cells[cells["implementation"] == PEAK].to_dict("records")
    return {
        (row["machine"], row["device"], row["phase"]): row
        | {"wall_median_s": min(row["process_medians_s"]), "gflops": _rate(row)}
        for row in peaks
    }


def _rate(row: Mapping) -> float:
    return row["gflops"] * row["wall_median_s"] / min(row["process_medians_s"])


def library(implementation: str) -> str:
    return LIBRARIES.get(implementation, implementation.split("/")[0])


def products(cells: pd.DataFrame) -> dict[tuple, dict]:
    """{(machine, device, phase, framework, generation): the row of its matrix products as its styles call them}"""
    found = {}
    for row in cells[(cells["family"] == "ceiling") & (cells["implementation"] != PEAK)].to_dict(
        "records"
    ):
        framework, _, style = row["implementation"].partition("/")
        key = (row["machine"], row["device"], row["phase"], framework, row["generation"])
        if key not in found or "large" not in style:
            found[key] = row
    return found


def analyse(tables: Tables, about: Mapping, benchmark: str) -> dict | None:
    """{"rows": [{"machine", "name", "phase", "device", "now", "wall_s", "products_s", "beside_s": what a step of a layer
    takes beside them, "flexibility" and "library" with their intervals, "least": whether the products are no ceiling, as a
    kernel of the framework multiplies faster, "share"}], "products": the ceilings, "broken":
    what _broken says}. What lacks a number is None."""
    cells = tables.measured(benchmark=benchmark)
    own = products(cells)
    peak = limits(cells)
    shape = about["document"]["benchmarks"][benchmark]
    found, ceilings, pairs = [], [], []
    for row in cells[cells["flexibility"].notna()].to_dict("records"):
        place = (row["machine"], row["device"], row["phase"])
        ceiling = own.get((*place, library(row["implementation"]), row["generation"]))
        entry = _entry(row, peak.get(place))
        entry |= _over("flexibility", row, ceiling) | _over("library", ceiling, peak.get(place))
        entry["now"] = row["generation"] == NOW
        entry["products_s"] = ceiling["wall_median_s"] if ceiling else None
        if ceiling:
            entry["products_within"] = _around(ceiling)
            each = entry["products_s"] / (shape["length"] * shape["layers"])
            for end in ("", "_low", "_high"):
                entry[f"beside_s{end}"] = (entry[f"flexibility{end}"] - 1) * each
        pairs += [(row, ceiling), (row, peak.get(place))]
        entry["ceiling"] = _place(ceiling) if ceiling else None
        found.append(entry)
    if not any(row["flexibility"] or row["share"] for row in found):
        return None
    for row in cells[cells["family"] == "ceiling"].to_dict("records"):
        limit = peak.get((row["machine"], row["device"], row["phase"]))
        if row["implementation"] == PEAK:
            row = limit
        ceilings.append(_entry(row, limit) | {"gflops": row["gflops"]})
        ceilings[-1]["now"] = row["generation"] == NOW
        pairs.append((row, limit))
    found.sort(key=lambda row: (row["machine"], row["phase"], row["wall_s"]))
    broken = _broken(pairs)
    beaten = {_place(each) for each in broken if each["kernels"]}
    for row in found:
        row["least"] = row.pop("ceiling") in beaten
    return {"rows": found, "products": ceilings, "broken": broken}


def _place(row: Mapping) -> tuple:
    return tuple(row[key] for key in PLACE)


def _entry(row: Mapping, peak: Mapping | None) -> dict:
    names = (*PLACE, "mark")
    share = peak["wall_median_s"] / row["wall_median_s"] if peak else None
    return {name: row.get(name) for name in names} | {
        "wall_s": row["wall_median_s"],
        "within": _around(row),
        "share": share,
    }


def _around(row: Mapping) -> str:
    """± of a row's time; of the peak, which is its fastest process's, nothing."""
    if row["implementation"] == PEAK:
        return ""
    return within(*estimates.product([row["process_medians_s"]], [1]))


def _over(name: str, row: Mapping | None, ceiling: Mapping | None) -> dict:
    """Time over a ceiling's with its interval and mark; nothing without one of them."""
    if not row or not ceiling:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    if ceiling["implementation"] != PEAK:
        return estimates.over(row, ceiling, name)
    limit = ceiling["wall_median_s"]
    found = [end / limit for end in estimates.product([row["process_medians_s"]], [1])]
    known = dict(zip((name, f"{name}_low", f"{name}_high"), found, strict=True))
    return known | {f"{name}_mark": marks.beside(row, ceiling)}


def _beaten(row: Mapping, ceiling: Mapping | None) -> dict | None:
    """A row that is faster than its ceiling by more than the interval of both explains."""
    found = _over("ratio", row, ceiling)
    if ceiling is row or not found["ratio"]:
        return None
    end = found["ratio"] * SLACK if pd.isna(found["ratio_high"]) else found["ratio_high"]
    own = {key: row[key] for key in ("name", "flexibility", "page_faults", "utilisation")}
    return None if end >= 1 else own | found | {"wall_s": row["wall_median_s"]}


def _broken(pairs: Iterable[tuple[Mapping, Mapping | None]]) -> list[dict]:
    """Ceilings that are none, of pairs of a row and its ceiling: [{"machine", "name", "environment", "phase", "wall_s",
    "peak", "rows": those that are faster, "kernels": whether they multiply by kernels of their own, "differs": what was measured to differ between ceiling and rows}]"""
    groups: dict[tuple, dict] = {}
    for row, ceiling in pairs:
        if beaten := _beaten(row, ceiling):
            kept = {key: ceiling[key] for key in PLACE} | {"wall_s": ceiling["wall_median_s"]}
            kept |= {"peak": ceiling["implementation"] == PEAK, "rows": [], "ceiling": ceiling}
            group = groups.setdefault(_place(ceiling), kept)
            group["rows"].append(beaten)
    for group in groups.values():
        group["kernels"] = all(row["flexibility"] in KERNELS for row in group["rows"])
        group["differs"] = _differs(group.pop("ceiling"), group["rows"])
    return list(groups.values())


def _differs(ceiling: Mapping, rows: Sequence[Mapping]) -> list[str]:
    found = []
    for key, words, shown in (
        ("page_faults", "page faults a batch", FORMATS["whole"][0]),
        ("utilisation", "share of the threads that is busy", percent),
    ):
        known = [row[key] for row in rows if pd.notna(row[key])]
        if known and pd.notna(ceiling[key]):
            ends = " to ".join(dict.fromkeys(shown(end) for end in (min(known), max(known))))
            found.append(f"{words} {shown(ceiling[key])}, theirs {ends}")
    return found
