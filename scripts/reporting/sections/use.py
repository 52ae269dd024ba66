"""What to use for something: the fastest row, by how much, and how sure that is."""

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from plan import matrix
from plan.matrix import NOW
from reporting import marks
from reporting.layout import DASH, at_most, interval, time
from reporting.sections import Tables
from stats import estimates

TIES = (marks.UNDECIDED, marks.ALIKE, f"likely {marks.ALIKE}")  # then either will do


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
    that both have, of those that do not tie with it; "sure" says on how many shapes the best is faster, too."""
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
        over = np.log(medians / medians.loc[best]).drop(index=best).mean(axis=1).dropna()
        shapes = times.loc[best]
        rivals = [_against(own, best, name, len(shapes)) for name in over.sort_values().index]
        ties = [each for each in rivals if each["sure"].startswith(TIES)]
        slower = [each for each in rivals if each not in ties]
        row = {"to": to, "machine": machine, "device": device} | _speed(own, best, shapes)
        found.append(row | _advice(best, ties, slower))
    return {"rows": found} if found else None


def _fits(name: str, shape: Mapping, benchmarks: Sequence[str], batch: int | None) -> bool:
    named = matrix.takes_part(benchmarks, name) and "baseline" not in shape
    return named and batch in (None, shape["batch"])


def _advice(best: str, ties: Sequence[Mapping], slower: Sequence[Mapping]) -> dict:
    """What to use, all that tie with the best, and the nearest that does not, if there is one; "sure" of the ties, how far
    each is from the best."""
    found = slower[0] if slower else {"name": DASH, "margin": DASH}
    near = [
        f"{said}: " + "; ".join(f"{each['name']} {each['mean']}" for each in own)
        for said, own in itertools.groupby(ties, key=lambda each: each["sure"])
    ]
    return {
        "use": " or ".join([best, *(each["name"] for each in ties)]),
        "next": found["name"],
        "margin": found["margin"],
        "sure": "; ".join(near) if near else found["sure"],
    }


def _speed(own: pd.DataFrame, best: str, times: pd.Series) -> dict:
    """How fast the best is; `times`: those of its processes, on all shapes."""
    speeds = [estimates.product([each], [1]) for each in times]
    if len(times) > 1:
        mark = marks.mark(*own[own["name"] == best].to_dict("records"))
        ends = f"{time(min(speeds)[0])} to {time(max(speeds)[0])} a batch{mark}"
        return {"speed": ", ".join(filter(None, [ends, at_most(speeds), f"{len(times)} shapes"]))}
    row = own.set_index("name").loc[best]
    wall = row["wall_median_s"]
    batch = row["sequences_per_s"] * row["wall_s"]
    speed = f"{batch / wall:,.0f} sequences/s" if batch > 1.5 else f"{1e3 * wall:.3g} ms a sequence"
    return {"speed": f"{speed} {at_most(speeds)}".strip() + marks.mark(row)}


def _against(own: pd.DataFrame, best: str, name: str, shapes: int) -> dict:
    """{"name", "mean": a row's time over the best's, "margin": with how far shapes differ, "sure"}, on those of so many shapes that it has."""
    rows = own.set_index(["name", "benchmark"]).sort_index()
    other = rows.loc[name]
    first = rows.loc[best].loc[other.index]
    of, to = (list(each["process_medians_s"]) for each in (other, first))
    mean, low, high = estimates.over_shapes(of, to, len(of))
    both = [row for _, row in pd.concat([first, other]).iterrows()]
    margin = f"{mean:.2f}x {interval(low, high)}".strip() + marks.mark(*both)
    found, said = {"name": name, "mean": margin}, sure(low, high, *both)
    if shapes == 1:
        return found | {"margin": margin, "sure": said}
    over = [estimates.ratio([a], [b]) for a, b in zip(of, to, strict=True)]
    least, most = (pick(each.ratio for each in over) for pick in (min, max))
    faster = sum(each.verdict == "slower" for each in over)
    span = f", from {least:.2f}x to {most:.2f}x" if len(over) > 1 else ""
    where = "" if len(over) == shapes else f"; of {shapes} shapes it has {len(over)}"
    on = "" if np.isnan(low) else f" ({faster} of {len(over)} shapes)"
    return found | {"margin": margin + span + where, "sure": said + on}


def sure(low: float, high: float, *rows: Mapping) -> str:
    """Whether the next best takes longer, by the interval of its time over the best's, and by what the intervals are
    of: *yes* needs clean processes."""
    words = {"slower": "yes", "same": marks.ALIKE, "faster": "no, it is faster"}
    likely = words | {"slower": "likely", "same": f"likely {marks.ALIKE}"}
    if np.isnan(low):
        return marks.ONE_LOOK
    found = estimates.compared(low, high)
    if found not in words:
        return marks.UNDECIDED
    return f"{likely[found]}; {marks.counted(*rows)}" if marks.noisy(*rows) else words[found]


def merge(parts: Iterable[Mapping]) -> dict:
    return {"rows": [row for part in parts for row in part["rows"]]}
