"""When compiling or tuning pays."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from plan import matrix
from reporting.relations import over
from reporting.sections import OK
from stats.estimates import Ratio

START = ("build_s", "first_step_s")  # in every process
ONCE = ("kernel_schedule_s", "tuning_start_s", "tuning_s", "kernel_build_s")  # kept for later ones


class Gain(NamedTuple):
    """A row that compiles or tunes, the row that it replaces, the other's time over its own, and after how many batches it has
    overtaken the other, by both ends of that ratio's interval (None: it is not known to be faster)."""

    row: Mapping
    other: Mapping
    ratio: Ratio
    batches: tuple[int, int] | None


def gains(table: pd.DataFrame) -> Iterator[Gain]:
    """Of each measured row whose implementation has `instead_of`, where the other was measured on the same machine, benchmark,
    phase and device."""
    keys = ["machine", "benchmark", "phase", "device"]
    measured = table[table["status"] == OK].to_dict("records")
    rows = defaultdict(list)
    for row in measured:
        rows[row["implementation"], *(row[key] for key in keys)].append(row)
    for row in measured:
        other = matrix.implementation(row["implementation"]).get("instead_of")
        # Of several generations, that of its own environment. TVM has none of what it replaces.
        replaced = rows.get((other, *(row[key] for key in keys)), [])
        if replaced:
            same = (each for each in replaced if each["environment"] == row["environment"])
            yield _gain(row, next(same, replaced[0]))


def start(row: Mapping) -> float:
    """Seconds that precede the second batch: before the time that is reported is reached."""
    return once(row) + sum(row[name] for name in START if pd.notna(row[name]))


def once(row: Mapping) -> float:
    """Seconds of tuning and building a kernel, which later processes take over."""
    return sum(row[name] for name in ONCE if pd.notna(row[name]))


def _gain(row: Mapping, other: Mapping) -> Gain:
    """With what precedes the second batch as `start` (building, tuning, first step; no imports), n batches take
    start + (n - 1) * median batch."""
    ratio = over(other, row)
    if ratio.verdict != "slower":  # the other
        return Gain(row, other, ratio, None)
    later = start(row) - start(other)
    gained = (other["wall_median_s"] * (1 - 1 / end) for end in (ratio.high, ratio.low))
    fewest, most = (max(1, math.ceil(1 + later / each)) for each in gained)
    return Gain(row, other, ratio, (fewest, most))
