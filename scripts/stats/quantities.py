"""Numbers that claims are decided on: measured ones, which their processes speak for, and published ones, which lie
within the rounding of what is printed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from stats import marks
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
    """A number, the interval that it lies in (a published one: that of its rounding), its digits and where it
    stands; `mark`: what is known of how a published one came to be; `processes`: what a measured one's processes made
    of it, which speak for it instead of the interval; `noisy`: too few of those were clean (stats/marks.py); `once`:
    it was measured by one process only."""

    value: float
    low: float
    high: float
    text: str
    where: str = ""
    mark: str = ""
    processes: Times = field(default_factory=Times)
    noisy: bool = False
    once: bool = False


Key = tuple[str, ...]  # the values of KEYS
Numbers = dict[Key, Number]


def of_document(numbers: pd.DataFrame) -> Numbers:
    """The numbers of one document, as published.numbers has them."""
    found = {}
    for row in numbers[numbers["quantity"] != "speedup"].itertuples():
        text = f"{row.value:.6g}" if "e" in row.printed else row.printed
        number = Number(row.value, row.low, row.high, text, f"line {row.line}", row.mark)
        found[tuple(getattr(row, key) for key in KEYS)] = number
    return found


def of_times(times: Sequence[float], words: float | None = None, noisy: bool = False) -> Number:
    """What a cell's processes took in seconds, as the median of them; of `words` a batch, as words per second."""
    made = Times(times)
    made = made.to(-1, words) if words else made
    value = product([made], [1])[0]
    return Number(value, value, value, f"{value:.4g}", processes=made, noisy=noisy)


def of_cells(cells: pd.DataFrame) -> Numbers:
    """The measured numbers of one document, machine and generation of environments, which has one environment
    for each implementation; `cells` as in cells.csv."""
    found = {}
    for row in cells[cells["status"] == "ok"].to_dict("records"):
        noisy = "processes" in row and marks.noisy(row)
        for quantity, column in MEASURED.items():
            if pd.notna(value := row[column]):
                cell = tuple(quantity if key == "quantity" else row[key] for key in KEYS)
                if quantity == "wall_s" or quantity in RATES:
                    words = value * row["wall_s"] if quantity in RATES else None
                    found[cell] = of_times(row["process_medians_s"], words, noisy)
                else:
                    ends = value / ONCE, value * ONCE
                    found[cell] = Number(value, *ends, f"{value:.4g}", once=True)
    return found
