"""Numbers that claims are decided on: measured ones, which their processes speak for, and published ones, which lie
within the rounding of what is printed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from plan.matrix import LEAST_PROCESSES
from stats.estimates import ONCE, product
from stats.samples import Times

KEYS = ("benchmark", "implementation", "phase", "device", "quantity")
RATES = {"words_per_s"}  # more is faster
# Measured quantities: columns of cells.csv. Kernels are scheduled and built once.
MEASURED = {
    "wall_s": "wall_median_s",
    "words_per_s": "words_per_s",
    "schedule_s": "kernel_schedule_s",
    "build_s": "kernel_build_s",
}


@dataclass(frozen=True)
class Number:
    """A number, and the interval that it lies in (a published one: that of its rounding); `processes`: what a measured one's
    processes made of it, which speak for it instead of the interval; `noisy`: too few of those were clean; `once`: it was
    measured by one process only."""

    value: float
    low: float
    high: float
    processes: Times = field(default_factory=Times)
    noisy: bool = False
    once: bool = False


Key = tuple[str, ...]  # the values of KEYS
Numbers = dict[Key, Number]


def of_document(numbers: pd.DataFrame) -> Numbers:
    """The numbers of one document, as published.numbers has them."""
    found = {}
    for row in numbers[numbers["quantity"] != "speedup"].itertuples():
        key = tuple(getattr(row, key) for key in KEYS)
        found[key] = Number(row.value, row.low, row.high)
    return found


def of_times(times: Sequence[float], words: float | None = None, noisy: bool = False) -> Number:
    """What a cell's processes took in seconds, as the median of them; of `words` a batch, as words per second."""
    made = Times(times)
    made = made.to(-1, words) if words else made
    value = product([made], [1])[0]
    return Number(value, value, value, made, noisy)


def _noisy(row: Mapping) -> bool:
    """Whether a cell, which has processes enough for an interval, has too few that ran while the machine was itself, as far as
    the yardstick tells; records of turns have none of it."""
    off = row.get("disturbed_processes")
    clean = int(row["processes"]) - (0 if off is None or pd.isna(off) else int(off))
    return clean < LEAST_PROCESSES <= row["processes"]


def of_cells(cells: pd.DataFrame) -> Numbers:
    """The measured numbers of one document, machine and generation of environments, which has one environment
    for each implementation; `cells` as in cells.csv."""
    found = {}
    for row in cells[cells["status"] == "ok"].to_dict("records"):
        noisy = "processes" in row and _noisy(row)
        for quantity, column in MEASURED.items():
            if pd.notna(value := row[column]):
                cell = tuple(quantity if key == "quantity" else row[key] for key in KEYS)
                if quantity == "wall_s" or quantity in RATES:
                    words = value * row["wall_s"] if quantity in RATES else None
                    found[cell] = of_times(row["process_medians_s"], words, noisy)
                else:
                    found[cell] = Number(value, value / ONCE, value * ONCE, once=True)
    return found
