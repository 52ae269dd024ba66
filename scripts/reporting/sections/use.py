"""What to use for something: the fastest row, by how much, and how sure that is."""

import statistics
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from plan import matrix
from reporting import estimates, marks
from reporting.layout import interval, time, within
from reporting.sections import Tables

NOW = "now"
ALIKE = "no difference"
TIES = (marks.UNDECIDED, ALIKE, f"likely {ALIKE}")  # then either will do


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
    rows on benchmarks of this name and size of batch, `besides` some implementations. Of several shapes the best is the
    row that has them all and the least geometric mean, and the next best the row that takes least over it on those
    that both have; "sure" says on how many shapes the best is faster, too."""
    shapes = about["document"]["benchmarks"]
    cells = tables.measured(generation=NOW, phase=phase)
    cells = cells[cells["flexibility"].notna() & ~cells["implementation"].isin(besides)]
    fitting = [name for name, shape in shapes.items() if _fits(name, shape, benchmarks, batch)]
    cells = cells[cells["benchmark"].isin(fitting)]
    found = []
    for (machine, device), own in cells.groupby(["machine", "device"], sort=False):
        times = own.pivot(index="name", columns="benchmark", values="process_medians_s")
        medians = times.map(statistics.median, na_action="ignore").astype(float)
        means = np.log(medians.dropna()).mean(axis=1)
        if means.empty or len(times) < 2:
            continue
        best = means.idxmin()
        # Of rows that lack some of the shapes too: a tuned kernel's rival is a library, not the same untuned.
        over = np.log(medians / medians.loc[best]).drop(index=best).mean(axis=1)
        second = over.idxmin()
        own = own[own["benchmark"].isin(times.columns[times.loc[second].notna()])]
        row = {"to": to, "machine": machine, "device": device, "use": best, "next": second}
        if times.shape[1] == 1:
            row |= _single(own, best, second)
        else:
            row |= _several(own, best, second, medians.loc[best])
        if row["sure"].startswith(TIES):
            row["use"] = f"{best} or {second}"
        found.append(row)
    return {"rows": found} if found else None


def _fits(name: str, shape: Mapping, benchmarks: Sequence[str], batch: int | None) -> bool:
    named = matrix.takes_part(benchmarks, name) and "baseline" not in shape
    return named and batch in (None, shape["batch"])


def _single(own: pd.DataFrame, best: str, second: str) -> dict:
    rows = own.set_index("name")
    first, other = (rows.loc[name] for name in (best, second))
    ratio = estimates.ratio([other["process_medians_s"]], [first["process_medians_s"]])
    wall = first["wall_median_s"]
    batch = first["sequences_per_s"] * first["wall_s"]
    speed = f"{batch / wall:,.0f} sequences/s" if batch > 1.5 else f"{1e3 * wall:.3g} ms a sequence"
    _, low, high = estimates.product([first["process_medians_s"]], [1])
    return {
        "speed": f"{speed} {within(wall, low, high)}{marks.mark(first)}",
        "margin": f"{ratio.ratio:.2f}x {interval(ratio.low, ratio.high)}{marks.mark(first, other)}",
        "sure": sure(ratio.low, ratio.high, first, other),
    }


def _several(own: pd.DataFrame, best: str, second: str, times: pd.Series) -> dict:
    """`own`: the cells on the benchmarks that both rows have; `times`: the best's on all shapes (s)."""
    shapes = len(times)
    rows = own.set_index(["name", "benchmark"]).sort_index()
    first, other = rows.loc[best], rows.loc[second]
    of, to = (list(each["process_medians_s"]) for each in (other, first))
    over = [estimates.ratio([a], [b]) for a, b in zip(of, to, strict=True)]
    mean, low, high = estimates.over_shapes(of, to, len(over))
    least, most = (pick(each.ratio for each in over) for pick in (min, max))
    faster = sum(each.verdict == "slower" for each in over)
    both = [row for _, row in pd.concat([first, other]).iterrows()]
    where = "" if len(over) == shapes else f"; of {shapes} shapes it has {len(over)}"
    span = f", from {least:.2f}x to {most:.2f}x" if len(over) > 1 else ""
    return {
        "speed": f"{time(times.min())} to {time(times.max())} a batch, {shapes} shapes",
        "margin": f"{mean:.2f}x {interval(low, high)}{marks.mark(*both)}{span}{where}",
        "sure": sure(low, high, *both)
        + ("" if np.isnan(low) else f" ({faster} of {len(over)} shapes)"),
    }


def sure(low: float, high: float, *rows: Mapping) -> str:
    """Whether the next best takes longer, by the interval of its time over the best's, and by what the intervals are
    of: *yes* needs clean processes."""
    words = {"slower": "yes", "same": ALIKE, "faster": "no, it is faster"}
    likely = words | {"slower": "likely", "same": f"likely {ALIKE}"}
    if np.isnan(low):
        return "one look"
    found = estimates.compared(low, high)
    if found not in words:
        return marks.UNDECIDED
    return f"{likely[found]}; {marks.counted(*rows)}" if marks.noisy(*rows) else words[found]


def merge(parts: Iterable[Mapping]) -> dict:
    return {"rows": [row for part in parts for row in part["rows"]]}
