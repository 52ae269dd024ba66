"""Whether enough of a number's processes were undisturbed, and the words for what an interval does not decide."""

from collections.abc import Mapping

import pandas as pd

from plan.matrix import LEAST_PROCESSES

UNDECIDED = "undecided"
ALIKE = "no difference"  # of an interval that lies within the margin of equivalence


def noisy(row: Mapping) -> bool:
    """Whether a cell, which has processes enough for an interval, has too few that ran while the machine was itself, as far as
    the yardstick tells; records of turns have none of it."""
    off = row.get("disturbed_processes")
    clean = int(row["processes"]) - (0 if off is None or pd.isna(off) else int(off))
    return clean < LEAST_PROCESSES <= row["processes"]
