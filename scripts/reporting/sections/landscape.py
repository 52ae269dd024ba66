"""Rates over a map of shapes, one factor at a time around a centre: who is fastest where, and what operators take there."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from plan.matrix import NOW
from reporting.blocks import Block, Table, Text
from reporting.layout import DASH, brief, percent, time_within
from reporting.sections import Tables
from reporting.style import STYLE, hover, logarithmic, marked, width
from stats import estimates

FACTORS = {"batch": "sequences of a batch", "hidden": "hidden units", "length": "steps"}
WRITTEN = ("operators", "operators in a loop")
LINES = ("-", "--", ":", "-.")  # of a framework's first row, second ...


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


def lstms(tables: Tables) -> pd.DataFrame:
    """Today's rows with a rate, but ceilings; `share` of the machine's multiply-add peak."""
    cells = tables.measured(generation=NOW, phase="forward")
    cells = cells[cells["gflops"].notna() & cells["flexibility"].notna()]
    return cells.assign(share=1 / cells["ratio_to_peak"])


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
    margin: tuple[
        float, float, float
    ]  # the next one's time over the fastest one's, with its interval
    operators: tuple[float, float, float] | None


@dataclass(frozen=True)
class Answer:
    shapes: list[Shape]


def _over(row: pd.Series, best: pd.Series) -> tuple[float, float, float]:
    found = estimates.over(row, best, "over")
    return found["over"], found["over_low"], found["over_high"]


def analyse(tables: Tables, about: Mapping, centre: str) -> Answer | None:
    found = []
    for device, own in lstms(tables).groupby("device", sort=False):
        for factor, values in lines(about, centre).items():
            for benchmark, value in values.items():
                rows = own[own["benchmark"] == benchmark].sort_values("wall_median_s")
                if len(rows) < 2:
                    continue
                best = rows.iloc[0]
                written = rows[rows["flexibility"].isin(WRITTEN)]
                sure = best["interval"] == "confidence"
                found.append(
                    Shape(
                        str(device),
                        factor,
                        value,
                        benchmark,
                        best["name"],
                        best["wall_median_s"],
                        (best["wall_low_s"], best["wall_high_s"]) if sure else None,
                        best["share"],
                        rows["name"].iloc[1],
                        _over(rows.iloc[1], best),
                        _over(written.iloc[0], best) if len(written) else None,
                    )
                )
    return Answer(found) if found else None


def write(answer: Answer) -> Iterator[Block]:
    shapes = {each.benchmark: each for each in answer.shapes}.values()
    wins = Counter(each.name for each in shapes)
    (winner, count), *_ = wins.most_common()
    yield Text(
        f"Of {len(shapes)} shapes, {winner} is fastest on {count}, on {sum(each.name == winner and (each.margin[1] or 0) > 1 for each in shapes)} "
        "of them beyond the interval of its lead over the next. Rates are those of the matrix products; the peak is the machine's "
        "multiply-add peak, measured with TVM."
    )
    rows = [
        [
            each.factor,
            f"{each.value:,}",
            each.name,
            time_within(each.seconds, *(each.within or (None, None))),
            percent(each.share),
            each.next,
            brief(*each.margin),
            brief(*each.operators) if each.operators else DASH,
        ]
        for each in answer.shapes
    ]
    heads = ["Factor", "Value", "Fastest", "Time", "Of the peak", "Next", "Its ratio"]
    yield Table([*heads, "Operators' ratio"], rows)


def draw(
    answer: Answer, tables: Tables, about: Mapping, wide: bool, centre: str
) -> tuple[plt.Figure, str]:
    """A panel a factor, a curve an implementation; the line on top is the multiply-add peak. A line of panels a device."""
    cells = lstms(tables)
    groups = list(cells.groupby("device", sort=False))
    with plt.rc_context(STYLE):
        drawn = _curves(cells)
        count, below = len(groups) if wide else 3 * len(groups), len(drawn) / (3 if wide else 1)
        figure, axes = plt.subplots(
            count,
            3 if wide else 1,
            figsize=(width(wide, 9.5), 0.4 + (3.1 if wide else 2.4) * count + 0.19 * below),
            sharey="row",
            squeeze=False,
        )
        for line, (device, own) in zip(axes.reshape(len(groups), 3), groups, strict=True):
            for axis, (factor, values) in zip(line, lines(about, centre).items(), strict=True):
                _panel(axis, own, values, drawn)
                axis.set_xlabel(FACTORS[factor])
                if wide and axis is not line[0]:
                    continue
                axis.set_ylabel("GFLOP/s of the matrix products" if wide else "GFLOP/s")
            if len(groups) > 1:
                line[0].set_title(str(device).upper(), loc="left")
        handles = {
            label: handle
            for axis in axes.flat
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=3 if wide else 1)
    return figure, (
        f"Rates of {cells['name'].nunique()} implementations over batch, hidden units and length, below the multiply-add peak."
    )


def _curves(cells: pd.DataFrame) -> dict[str, dict]:
    """{row: how it is drawn}"""
    names = cells.groupby("implementation", sort=False)["name"].first().to_dict()
    looks = marked(names)
    styles: dict[str, int] = {}
    found = {}
    for implementation, name in names.items():
        number = styles[looks[implementation]["color"]] = (
            styles.get(looks[implementation]["color"], -1) + 1
        )
        found[name] = looks[implementation] | {"ls": LINES[number % len(LINES)], "ms": 5, "lw": 1.4}
    return found


def _panel(axis: Axes, cells: pd.DataFrame, values: Mapping, drawn: Mapping) -> None:
    own = cells[cells["benchmark"].isin(list(values))]
    for name, rows in own.groupby("name", sort=False):
        rows = rows.assign(x=rows["benchmark"].map(values)).sort_values("x")
        (curve,) = axis.plot(rows["x"], rows["gflops"], label=name, **drawn[name])
        hover(curve, f"{name}: {rows['gflops'].min():.0f} to {rows['gflops'].max():.0f} GFLOP/s")
    peak = (own["gflops"] / own["share"]).median()
    if peak == peak:
        axis.axhline(peak, color="black", lw=1, label="multiply-add peak")
    logarithmic(axis, "y")
    logarithmic(axis)
    axis.set_xticks([], minor=True)
    axis.set_xticks(list(values.values()), [f"{value:g}" for value in values.values()], fontsize=8)
