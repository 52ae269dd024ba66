"""What to use for something: the fastest row, by how much, and how sure that is."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from plan import matrix
from reporting import estimates
from reporting.layout import interval
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
    have them all are compared by geometric mean, and the range over shapes takes the interval's place."""
    shapes = about["document"]["benchmarks"]
    cells = tables.measured(generation=NOW, phase=phase)
    cells = cells[cells["flexibility"].notna() & ~cells["implementation"].isin(besides)]
    fitting = [name for name, shape in shapes.items() if _fits(name, shape, benchmarks, batch)]
    cells = cells[cells["benchmark"].isin(fitting)]
    found = []
    for (machine, device), own in cells.groupby(["machine", "device"], sort=False):
        times = own.pivot_table(index="name", columns="benchmark", values="wall_median_s")
        times = times.dropna()
        if len(times) < 2:
            continue
        means = pd.Series(stats.gmean(times, axis=1), times.index).sort_values()
        best, second = means.index[:2]
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
    words = {"slower": "yes", "same": "no difference"}
    sure = "one look" if np.isnan(ratio.low) else words.get(ratio.verdict, "not told apart")
    wall, times = rows.loc[best, "wall_median_s"], rows.loc[best, "process_medians_s"]
    batch = rows.loc[best, "sequences_per_s"] * rows.loc[best, "wall_s"]
    speed = f"{batch / wall:,.0f} sequences/s" if batch > 1.5 else f"{1e3 * wall:.3g} ms a sequence"
    _, low, high = estimates.product([times], [1])
    speed += f" ± {50 * (high - low) / wall:.2g} %" if low == low else ""
    return {
        "speed": speed,
        "margin": f"{ratio.ratio:.2f}x {interval(ratio.low, ratio.high)}",
        "sure": sure,
    }


def _several(times: pd.DataFrame, best: str, second: str) -> dict:
    ratios = times.loc[second] / times.loc[best]
    wins = int((ratios > 1).sum())
    return {
        "speed": f"{len(ratios)} shapes",
        "margin": f"{stats.gmean(ratios):.2f}x, from {ratios.min():.2f}x to {ratios.max():.2f}x",
        "sure": f"faster on {wins} of {len(ratios)} shapes",
    }


def merge(parts: Iterable[Mapping]) -> dict:
    return {"rows": [row for part in parts for row in part["rows"]]}
