"""The explorer: every number of a report on one page, chosen by click. Its sources are in report/explorer; here its data are
made. Ratios and their intervals are estimates.ratio's, for every pair of implementations that are measured on the same
benchmark, phase, device and machine: the page looks them up and computes no statistics."""

import base64
import json
import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from plan import matrix
from reporting import timeline, tradeoff, words
from reporting.sections import OK, Tables, error, took_part
from reporting.style import look
from stats import estimates
from stats.samples import Times

SOURCES = Path("report/explorer")
SCRIPTS = ("data.js", "controls.js", "views.js", "table.js")  # one after the other
LIMIT = "reference point"  # the level of what is no LSTM: products, the multiply-add peak
LIMIT_MEANS = "no LSTM: the matrix products alone, as one library multiplies them, or the machine's peak, which alone is a bound"
PLACE = ["benchmark", "phase", "device", "machine"]
AXES = {
    "batch": "batch size",
    "length": "steps",
    "hidden": "units",
    "layers": "layers",
    "threads": "threads",
}
LEAST_POINTS = 3  # fewer are no line
# Steps of logarithms in which the ends of intervals are kept: a hundredth of a per cent.
MARGIN = 1e-4
LARGEST = 0x7FFF
NONE = 0xFFFF  # no interval: fewer than three processes

# Columns of a row: (significant digits, what a number is multiplied by), so that few letters are needed.
NUMBERS = {
    **{"wall_median_s": (6, 1e6), "start_s": (3, 1e3), "import_s": (2, 1e3)},
    **{"peak_memory_bytes": (3, 2**-20), "device_peak_bytes": (3, 2**-20), "error": (2, 1e9)},
    **{"gflops": (3, 1), "published_wall_s": (7, 1), "processes": (6, 1), "batches": (6, 1)},
}
OF_MEDIAN = {"wall_low_s": 1e4, "wall_high_s": 1e4, "wall_p99_s": 1e3}  # parts of the median
NAMED = ["implementation", "environment", "version", "interval"]
COLUMNS = [*NAMED, *NUMBERS, *OF_MEDIAN, "process_medians"]  # the last: deviations, in thousandths


def _digits(value: object, digits: int, scale: float = 1) -> float | int | None:
    if value is None or pd.isna(value) or not math.isfinite(value):
        return None
    found = float(f"{value * scale:.{digits}g}")
    return int(found) if found.is_integer() else found


def _part(value: float, median: float, scale: float) -> int | None:
    return round(scale * value / median) if math.isfinite(value) else None


Lists = Mapping[str, dict[str, int]]  # what rows refer to: {value: its place}


def _place(known: dict[str, int], value: str) -> int:
    """Of a value that is written once."""
    return known.setdefault(value, len(known))


def _row(row: Mapping, lists: Lists) -> list:
    found = {**row, "start_s": tradeoff.start(row), "error": error(row)}
    median = row["wall_median_s"]
    return [
        _place(lists["names"], row["implementation"]),
        _place(lists["environments"], row["environment"]),
        _place(lists["versions"], row["framework_version"]),
        int(row["interval"] == "confidence"),
        *(_digits(found[name], *how) for name, how in NUMBERS.items()),
        *(_part(row[name], median, scale) for name, scale in OF_MEDIAN.items()),
        [round(1000 * each / median) - 1000 for each in row["process_medians_s"]],
    ]


def _columns(rows: Sequence[Mapping], lists: Lists) -> list:
    """COLUMNS of some rows: a list each, or a single value where all rows have the same."""
    *columns, medians = zip(*(_row(row, lists) for row in rows), strict=True)
    return [*(own[0] if len({*own}) == 1 else [*own] for own in columns), [*medians]]


def ratios(times: Sequence[Times], medians: Sequence[float]) -> dict:
    """The ratios of all pairs, i of `times` over j, i < j, as logarithms in steps of MARGIN, 16 bits each, in base64: "ends", how
    far the low and the high end are from the ratio; "off", how far that is from the ratio of the rows' `medians`, where it is not
    the same for all, as of rows that took turns."""
    ends, off = [], []
    for place, one in enumerate(times):
        for at, other in enumerate(times[place + 1 :], place + 1):
            ratio = estimates.ratio([one], [other])
            steps = round(math.log(ratio.ratio * medians[at] / medians[place]) / MARGIN)
            off.append(max(-LARGEST, min(steps, LARGEST)))
            for end in (ratio.low, ratio.high):
                known = not math.isnan(end)
                margin = round(abs(math.log(end / ratio.ratio)) / MARGIN) if known else NONE
                ends.append(min(margin, NONE - 1) if known else NONE)
    found = {"ends": base64.b64encode(struct.pack(f"<{len(ends)}H", *ends)).decode()}
    if any(off):
        found["off"] = base64.b64encode(struct.pack(f"<{len(off)}h", *off)).decode()
    return found


def groups(tables: Tables, about: Mapping, lists: Lists) -> Iterator[dict]:
    """What is compared with each other: {"benchmark", "phase", "device", "machine", "rows": COLUMNS, "ratios",
    "missing": [implementation, environment, why]}"""
    cells = tables.cells
    asked = cells[(cells["status"] == OK) | took_part(cells, about)]
    for place, own in asked[asked["status"] != matrix.NOT_RUN].groupby(PLACE, sort=False):
        measured = own[own["status"] == OK].sort_values("wall_median_s")
        if measured.empty:
            continue
        missing = own[own["status"] != OK]
        yield {
            **dict(zip(PLACE, place, strict=True)),
            "rows": _columns(measured.to_dict("records"), lists),
            "ratios": ratios([*measured["process_medians_s"]], [*measured["wall_median_s"]]),
            "missing": [
                [
                    _place(lists["names"], row.implementation),
                    _place(lists["environments"], row.environment),
                    _place(lists["reasons"], ", ".join(filter(None, [row.status, row.reason]))),
                ]
                for row in missing.itertuples()
            ],
        }


def series(shapes: Mapping[str, Mapping]) -> Iterator[dict]:
    """Benchmarks that differ in one number only: {"axis", "label", "benchmarks": {name: number}}. An input as wide as the
    state grows with it."""
    for axis, label in AXES.items():
        found: dict[str, dict] = {}
        for name, shape in shapes.items():
            if axis in shape:
                tied = shape.get("features") == shape["hidden"]
                others = {k: v for k, v in shape.items() if k not in (axis, "baseline")}
                others |= {"features": "as wide"} if tied else {}
                found.setdefault(json.dumps(others, sort_keys=True), {})[name] = shape[axis]
        for names in found.values():
            if len(set(names.values())) >= LEAST_POINTS:
                yield {"axis": axis, "label": label, "benchmarks": names}


def _implementation(entry: Mapping) -> dict:
    name = entry["implementation"]
    get = entry.get("get", {})
    return {
        "id": name,
        "framework": look(name).name,
        "level": entry.get("flexibility", LIMIT),
        "does": entry["does"],
        "source": matrix.implementation_file(name),
        "install": get.get("install", ""),
        "use": "; ".join(
            [get.get("use", ""), *(f"{k}: {v}" for k, v in get.get("formats", {}).items())]
        ),
    } | {key: entry[key] for key in ("by_cell", "inside") if key in entry}


def data(parts: Iterable[tuple[Tables, Mapping]]) -> dict:
    """All that the explorer shows, of documents' tables."""
    lists: Lists = {key: {} for key in ("names", "environments", "versions", "reasons")}
    found: dict = {"columns": COLUMNS, "documents": [], "benchmarks": {}, "series": []}
    found |= {"groups": [], "axes": AXES, "step": MARGIN, "none": NONE}
    found |= {"scales": {name: scale for name, (_, scale) in NUMBERS.items()}, "parts": OF_MEDIAN}
    facts: dict[str, Mapping | None] = {}
    days: dict[str, set[str]] = {}
    year = 0
    for tables, about in parts:
        own = list(groups(tables, about, lists))
        found["groups"] += own
        shown = {group["benchmark"] for group in own}
        shapes = {k: v for k, v in about["document"]["benchmarks"].items() if k in shown}
        for name, shape in shapes.items():
            found["benchmarks"][name] = {
                "document": about["name"],
                "shape": words.shape(shape),
                "cell": shape.get("cell", "lstm"),
            }
        found["series"] += series(shapes)
        if own:
            found["documents"].append({"name": about["name"], "title": about["document"]["title"]})
        year = max(year, timeline.today(about))
        for machine in about["machines"]:
            facts[machine["machine"]] = facts.get(machine["machine"]) or machine["facts"]
            days.setdefault(machine["machine"], set()).update(machine["days"])
    entries = {entry["implementation"]: entry for entry in matrix.implementations()}
    called = words.names(entries.values())
    return found | {
        "implementations": [
            _implementation(entries[name]) | {"name": called[name]} for name in lists["names"]
        ],
        "environments": [
            {
                "name": name,
                "year": timeline.year_of(name, year),
                "current": matrix.generation(name) == matrix.NOW,
            }
            for name in lists["environments"]
        ],
        "versions": [*lists["versions"]],
        "reasons": [*lists["reasons"]],
        "levels": words.LEVELS | {LIMIT: LIMIT_MEANS},
        "machines": words.machines(facts.items()),
        "days": {
            name: words.between(min(own), max(own)) if own else "no date"
            for name, own in days.items()
        },
    }


def page_part(found: Mapping) -> str:
    """The explorer as a part of an HTML page, with its style, its script and its data."""
    text = json.dumps(found, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    sources = ("explorer.html", "explorer.css", *SCRIPTS)
    page, style, *scripts = ((SOURCES / name).read_text(encoding="utf-8") for name in sources)
    script = "".join(scripts)
    return (
        f"<style>\n{style}</style>\n{page}"
        f'<script type="application/json" id="data">{text}</script>\n<script>\n{script}</script>\n'
    )
