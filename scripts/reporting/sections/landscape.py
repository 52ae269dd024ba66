"""A map of shapes, one factor at a time around a centre: which implementation is fastest where, and what operators cost there."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import pandas as pd

from plan.matrix import NOW
from reporting.blocks import Block, Table, Text
from reporting.flexibility import OPERATORS
from reporting.layout import percent, time_within, times
from reporting.relations import over
from reporting.sections import Tables
from stats.estimates import Ratio

FACTORS = ("batch", "hidden", "length")
CURVE = 3  # values from which on the explorer draws one


def lines(about: Mapping, centre: str) -> dict[str, dict[str, int]]:
    """{factor: {benchmark: its value}} of those that differ from the centre in this factor alone, and of the centre."""
    shapes = about["document"]["benchmarks"]

    def others(name: str, factor: str) -> dict:
        # The input is as wide as the state.
        left_out = {factor, "features"} if factor == "hidden" else {factor}
        return {key: value for key, value in shapes[name].items() if key not in left_out}

    return {
        factor: {
            name: shapes[name][factor]
            for name in sorted(shapes, key=lambda name: shapes[name][factor])
            if others(name, factor) == others(centre, factor)
        }
        for factor in FACTORS
    }


@dataclass(frozen=True)
class Shape:
    """The fastest implementation of a shape, the next, and the fastest of operators."""

    device: str
    factor: str
    value: int
    benchmark: str
    name: str
    seconds: float
    within: tuple[float, float] | None
    share: float  # of the multiply-add peak
    next: str
    margin: Ratio  # the next one's time over the fastest one's
    operators: Ratio | None


@dataclass(frozen=True)
class Answer:
    shapes: list[Shape]


def _shape(rows: pd.DataFrame, device: str, factor: str, value: int) -> Shape:
    best = rows.iloc[0]
    written = rows[rows["flexibility"].isin(OPERATORS)]
    sure = best["interval"] == "confidence"
    return Shape(
        *(device, factor, value, best["benchmark"], best["name"], best["wall_median_s"]),
        (best["wall_low_s"], best["wall_high_s"]) if sure else None,
        *(1 / best["ratio_to_peak"], rows["name"].iloc[1], over(rows.iloc[1], best)),
        over(written.iloc[0], best) if len(written) else None,
    )


def analyse(tables: Tables, about: Mapping, centre: str) -> Answer | None:
    """Of today's rows with a rate, but ceilings."""
    cells = tables.measured(generation=NOW, phase="forward")
    cells = cells[cells["gflops"].notna() & cells["flexibility"].notna()]
    found = []
    for device, own in cells.groupby("device", sort=False):
        for factor, values in lines(about, centre).items():
            for benchmark, value in values.items():
                rows = own[own["benchmark"] == benchmark].sort_values("wall_median_s")
                if len(rows) > 1:
                    found.append(_shape(rows, str(device), factor, value))
    return Answer(found) if found else None


def write(answer: Answer) -> Iterator[Block]:
    shapes = {(each.device, each.benchmark): each for each in answer.shapes}.values()
    (winner, count), *_ = Counter(each.name for each in shapes).most_common()
    sure = sum(each.name == winner and each.margin.low > 1 for each in shapes)
    yield Text(
        f"{winner} is fastest for {count} of {len(shapes)} shapes; for {sure} of them the interval of the next one's ratio to it "
        "excludes 1. *Of the peak*: share of the machine's multiply-add peak, measured with TVM."
    )
    several = len({each.device for each in answer.shapes}) > 1
    columns = {"Factor": lambda each: each.factor + f", {each.device.upper()}" * several}
    columns |= {"Value": lambda each: f"{each.value:,}", "Fastest": "name"}
    columns |= {"Time": lambda each: time_within(each.seconds, *(each.within or (None, None)))}
    columns |= {"Of the peak": lambda each: percent(each.share), "Next": "next"}
    columns |= {"Its ratio": lambda each: times(each.margin)}
    columns |= {"Operators' ratio": lambda each: times(each.operators)}
    yield Table.of(answer.shapes, columns)
    views = {"batch": "batch size", "length": "steps", "hidden": "units"}
    values = Counter(each.factor for each in answer.shapes)
    first = {each.factor: each for each in answer.shapes if values[each.factor] >= CURVE}
    links = [
        f"[{views[factor]}](index.html#{urlencode({'benchmark': each.benchmark, 'view': factor})})"
        for factor, each in first.items()
    ]
    if links:
        yield Text(f"Curves of all implementations over {', '.join(links)}.")
