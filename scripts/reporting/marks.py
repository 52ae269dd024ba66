"""Words and marks of verdicts: whether enough of a number's processes were undisturbed, and the one word for what an interval does not
decide."""

from collections.abc import Mapping

import pandas as pd

from plan.matrix import LEAST_PROCESSES

NOISY, WIDE, UNDECIDED = "°", "≈", "undecided"
ALIKE = "no difference"  # of an interval that lies within the margin of equivalence
WIDE_LIMIT = 1.5  # the upper end of an interval over its lower one


def clean(row: Mapping) -> int:
    """How many of a cell's processes ran while the machine was itself, as far as the yardstick tells."""
    off = row.get("disturbed_processes")
    return int(row["processes"]) - (0 if off is None or pd.isna(off) else int(off))


def noisy(*rows: Mapping) -> bool:
    """Whether one of these cells, which has processes enough for an interval, has too few clean ones."""
    return any(clean(row) < LEAST_PROCESSES <= row["processes"] for row in rows)


def wide(low: float, high: float) -> str:
    """The mark of an interval whose ends lie far apart."""
    return WIDE if high > WIDE_LIMIT * low > 0 else ""
