"""Whether published numbers agree with each other, within what their rounding allows."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

BATCHES = 50  # timed in document 000 and 001
BATCH = 128  # sequences of theirs
PLAIN = 0.01  # a deviation above this is no slip of rounding

Interval = tuple[float, float]


def interval(printed: str) -> Interval:
    """The numbers that are printed as `printed`: half a unit of its last decimal to either side."""
    decimals = len(printed.partition(".")[2])
    half = 0.5 * 10.0**-decimals
    return float(printed) - half, float(printed) + half


def wall_times(row: dict[str, str]) -> dict[str, Interval]:
    """The average time of a batch (s) as each number of a row has it: itself, elapsed time over batches,
    batch size over sequences per second."""
    rate_low, rate_high = interval(row["sequences_per_s"])
    elapsed_low, elapsed_high = interval(row["elapsed_s"])
    return {
        "wall_s": interval(row["wall_s"]),
        "elapsed_s": (elapsed_low / BATCHES, elapsed_high / BATCHES),
        "sequences_per_s": (BATCH / rate_high, BATCH / rate_low),
    }


def _apart(one: Interval, other: Interval) -> float:
    """Gap between two intervals relative to the second one's middle; 0 where they meet."""
    gap = max(one[0] - other[1], other[0] - one[1], 0.0)
    return gap / ((other[0] + other[1]) / 2)


def _printed(column: str, wall_s: float) -> float:
    """What a column would show for an average time of a batch."""
    return {"wall_s": wall_s, "elapsed_s": wall_s * BATCHES, "sequences_per_s": BATCH / wall_s}[
        column
    ]


def contradictions(path: Path) -> Iterator[dict]:
    """Rows of a published table whose three numbers cannot all be right.

    Yields {"document", "line", "label", "column" that differs from the two others, "printed", "consistent":
    what the two others make of it, "deviation": relative, "plain": whether it is a large one}.
    """
    table = pd.read_csv(path, dtype=str).dropna(subset=["elapsed_s", "sequences_per_s"])
    for row in table.to_dict("records"):
        times = wall_times(row)
        gaps = {
            column: [_apart(times[column], times[other]) for other in times if other != column]
            for column in times
        }
        odd = max(gaps, key=lambda column: min(gaps[column]))
        deviation = max(gaps[odd])
        if not deviation:
            continue
        others = [sum(times[column]) / 2 for column in times if column != odd]
        yield {
            **{key: row[key] for key in ("document", "line", "label")},
            "column": odd,
            "printed": row[odd],
            "consistent": _printed(odd, sum(others) / 2),
            "deviation": deviation,
            "plain": deviation > PLAIN,
        }
