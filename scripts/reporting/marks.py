"""How far a number is to be trusted, as a mark beside it: whether enough of its processes were clean."""

from collections.abc import Mapping

import pandas as pd

from plan.matrix import LEAST_PROCESSES

NOISY = "°"
MEANING = f"{NOISY}: fewer than {LEAST_PROCESSES} clean processes, which ran while the machine was itself (known work beside their batches had its full speed)."


def clean(row: Mapping) -> int:
    """How many of a cell's processes ran while the machine was itself, as far as the yardstick tells."""
    off = row.get("disturbed_processes")
    return int(row["processes"]) - (0 if off is None or pd.isna(off) else int(off))


def noisy(*rows: Mapping) -> bool:
    """Whether one of these cells, which has processes enough for an interval, has too few clean ones."""
    return any(clean(row) < LEAST_PROCESSES <= row["processes"] for row in rows)


def mark(*rows: Mapping) -> str:
    """The mark of a number made of these cells."""
    return NOISY if noisy(*rows) else ""


def counted(*rows: Mapping) -> str:
    """`1 of 5 processes clean`, of the one that has fewest."""
    least = min(rows, key=clean)
    return f"{clean(least)} of {int(least['processes'])} processes clean"
