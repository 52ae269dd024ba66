"""What flexibility costs: the distance to the machine's ceiling, and when compiling pays."""

import math
from collections import defaultdict
from collections.abc import Mapping

import pandas as pd

from plan import matrix
from stats import estimates

START = ("build_s", "first_step_s")  # in every process
ONCE = (
    "kernel_schedule_s",
    "tuning_start_s",
    "tuning_s",
    "kernel_build_s",
)  # kept for later processes


def break_even(table: pd.DataFrame) -> list[dict]:
    """After how many batches a row that compiles or tunes has overtaken the row that it replaces.

    With what precedes the second batch as `start` (building, tuning, first step; no imports), n batches take
    start + (n - 1) * wall, of median batches. Returns, for every cell whose implementation has `instead_of`,
    {"document", "machine", "benchmark", "implementation", "environment", "other",
    "other_environment", "phase", "device", "status", "verdict"} and, where both were measured, {"start_s" with its interval, "once_s": what of it is tuned and built once, "other_start_s", "wall_s", "other_wall_s", and of the other's
    time over the row's "ratio", "low" and "high"}, as in estimates.Ratio. Verdicts: `pays` with
    "batches", the least n, and "batches_low" and "batches_high", what the ends of the ratio's interval make of it; `never`: slower a batch; `same`: neither is faster by what matters; `undecided`: which one is
    faster is not decided; `not measured`, with the "status" of what is missing.
    """
    keys = ["machine", "benchmark", "phase", "device"]
    cells = table.to_dict("records")
    rows = defaultdict(list)
    for row in cells:
        rows[row["implementation"], *(row[key] for key in keys)].append(row)
    found = []
    for row in cells:
        other = matrix.implementation(row["implementation"]).get("instead_of")
        # Of several generations, that of its own environment. TVM has none of what it replaces.
        replaced = sorted(
            rows.get((other, *(row[key] for key in keys)), []),
            key=lambda cell: cell["environment"] != row["environment"],
        )
        if replaced:
            names = ("document", "implementation", "environment", *keys)
            entry = {name: row[name] for name in names} | {"other": other}
            entry["other_environment"] = replaced[0]["environment"]
            found.append(entry | _overtakes(row, replaced[0]))
    return found


def start(row: Mapping) -> float:
    """Seconds that precede the second batch: before the time that is reported is reached."""
    return once(row) + sum(row[name] for name in START if pd.notna(row[name]))


def once(row: Mapping) -> float:
    """Seconds of tuning and building a kernel, which later processes take over."""
    return sum(row[name] for name in ONCE if pd.notna(row[name]))


def start_interval(row: Mapping) -> dict[str, float | None]:
    """The ends of the interval of a row's start, of which what is tuned once was seen once; None without them."""
    ends = ("start_low_s", "start_high_s")
    return {end: row[end] + once(row) if pd.notna(row.get(end)) else None for end in ends}


def _overtakes(row: dict, other: dict) -> dict:
    for cell in (row, other):
        if cell["status"] != "ok":
            return {"status": cell["status"], "verdict": "not measured"}
    own_start, other_start = start(row), start(other)
    entry = {
        "status": "ok",
        "start_s": own_start,
        **start_interval(row),
        "other_start_s": other_start,
        "once_s": once(row),
        "wall_s": row["wall_median_s"],
        "other_wall_s": other["wall_median_s"],
    }
    gained = estimates.ratio([other["process_medians_s"]], [row["process_medians_s"]])
    low, high = (None if math.isnan(end) else end for end in (gained.low, gained.high))
    entry |= {"ratio": gained.ratio, "low": low, "high": high}
    # The other one's time over the row's: where it is slower, the row pays.
    words = {"slower": "pays", "faster": "never"}
    entry["verdict"] = words.get(gained.verdict, gained.verdict)
    if entry["verdict"] == "pays":
        wall = entry["wall_s"]
        gains = {"": entry["other_wall_s"] - wall}
        gains |= {"_low": (gained.high - 1) * wall, "_high": (gained.low - 1) * wall}
        for end, gain in gains.items():
            entry[f"batches{end}"] = max(1, math.ceil(1 + (own_start - other_start) / gain))
    return entry
