"""What to use for something: the fastest row, by how much, and how sure that is."""

import statistics
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from plan import matrix
from reporting import estimates
from reporting.layout import interval, within
from reporting.sections import Tables

NOW = "now"


def analyse(
    tables: Tables,
    about: Mapping,
    to: str,
    phase: str,
    benchmarks: Sequence[str] = ("*",),
    batch: int | None = None,
    besides: Sequence[str] = (),
) -> dict | None:
    """{"rows": [{"to", "machine", "device", "use", "speed", "next", "margin": in words, "sure"}]}, of today's
    rows on benchmarks of this name and size of batch, `besides` some implementations. Of several shapes the rows that
    have them all are compared by geometric mean; "sure" says on how many shapes the best is faster, too."""
    shapes = about["document"]["benchmarks"]
    cells = tables.measured(generation=NOW, phase=phase)
    cells = cells[cells["flexibility"].notna() & ~cells["implementation"].isin(besides)]
    fitting = [name for name, shape in shapes.items() if _fits(name, shape, benchmarks, batch)]
    cells = cells[cells["benchmark"].isin(fitting)]
    found = []
    for (machine, device), own in cells.groupby(["machine", "device"], sort=False):
        times = own.pivot(index="name", columns="benchmark", values="process_medians_s").dropna()
        if len(times) < 2:
            continue
        medians = times.map(statistics.median)
        best, second = medians.apply(stats.gmean, axis=1).sort_values().index[:2]
        row = {"to": to, "machine": machine, "device": device, "use": best, "next": second}
        row |= _single(own, best, second) if times.shape[1] == 1 else _several(times, best, second)
        found.append(row)
    return {"rows": found} if found else None


def _fits(name: str, shape: Mapping, benchmarks: Sequence[str], batch: int | None) -> bool:
    named = matrix.takes_part(benchmarks, name) and "baseline" not in shape
    return named and batch in (None, shape["batch"])


def _single(own: pd.DataFrame, best: str, second: str) -> dict:
    rows = own.set_index("name")
    ratio = estimates.ratio(
        [rows.loc[second, "process_medians_s"]], [rows.loc[best, "process_medians_s"]]
    )
    wall, times = rows.loc[best, "wall_median_s"], rows.loc[best, "process_medians_s"]
    batch = rows.loc[best, "sequences_per_s"] * rows.loc[best, "wall_s"]
    speed = f"{batch / wall:,.0f} sequences/s" if batch > 1.5 else f"{1e3 * wall:.3g} ms a sequence"
    _, low, high = estimates.product([times], [1])
    return {
        "speed": f"{speed} {within(wall, low, high)}",
        "margin": f"{ratio.ratio:.2f}x {interval(ratio.low, ratio.high)}",
        "sure": sure(ratio.low, ratio.high),
    }


def _several(times: pd.DataFrame, best: str, second: str) -> dict:
    over = [
        estimates.ratio([a], [b]) for a, b in zip(times.loc[second], times.loc[best], strict=True)
    ]
    mean, low, high = estimates.over_shapes(times.loc[second], times.loc[best], len(over))
    least, most = (pick(each.ratio for each in over) for pick in (min, max))
    faster = sum(each.verdict == "slower" for each in over)
    return {
        "speed": f"{len(over)} shapes",
        "margin": f"{mean:.2f}x {interval(low, high)}, from {least:.2f}x to {most:.2f}x",
        "sure": sure(low, high) + ("" if np.isnan(low) else f" ({faster} of {len(over)} shapes)"),
    }


def sure(low: float, high: float) -> str:
    """Whether the next best takes longer, by the interval of its time over the best's."""
    words = {"slower": "yes", "same": "no difference"}
    return (
        "one look" if np.isnan(low) else words.get(estimates.compared(low, high), "not told apart")
    )


def merge(parts: Iterable[Mapping]) -> dict:
    return {"rows": [row for part in parts for row in part["rows"]]}
