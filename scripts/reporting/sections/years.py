"""One workload over the years: time of a batch, and of training the gradients' error, a line a style."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reporting import timeline
from reporting.blocks import Block, Table
from reporting.layout import time
from reporting.sections import Tables
from reporting.style import EDGE, NARROW, STYLE, hover, look, numbered, span, three_digits
from reporting.timeline import CEILING

# Colour and marker of a level, as either alone may be lost.
LEVELS = {
    "operators": ("#0072B2", "o"),
    "operators in a loop": ("#56B4E9", "s"),
    "compiled": ("#CC79A7", "v"),
    "cell kernel": ("#E69F00", "^"),
    "generated kernel": ("#009E73", "P"),
    "fused kernel": ("#D55E00", "D"),
    CEILING: ("#666666", "x"),
}
CALLED = {CEILING: "matrix products alone"}


@dataclass(frozen=True)
class Answer:
    lines: list[dict]  # timeline.lines
    benchmark: str
    phase: str
    table: bool


def analyse(
    tables: Tables, about: Mapping, benchmark: str, phase: str, table: bool = False
) -> Answer | None:
    found = list(timeline.lines(tables.measured(benchmark=benchmark, phase=phase), about))
    return Answer(found, benchmark, phase, table) if found else None


def write(answer: Answer) -> Iterator[Block]:
    if not answer.table:
        return  # the figure says it
    years = sorted({point["year"] for line in answer.lines for point in line["points"]})
    rows = []
    for line in answer.lines:
        points = {point["year"]: point for point in line["points"]}
        times = [time(points[year]["wall_median_s"]) if year in points else "" for year in years]
        rows.append([line["name"], *times])
    yield Table(["Implementation", *map(str, years)], rows)


def draw(
    answer: Answer,
    tables: Tables,
    about: Mapping,
    wide: bool,
    benchmark: str,
    phase: str,
    table: bool = False,
) -> tuple[plt.Figure, str]:
    """A column a framework; a row for time, and in training one for the gradients' error, a machine and device."""
    found = answer.lines
    frameworks = list(dict.fromkeys(line["framework"] for line in found))
    places = list(dict.fromkeys((line["machine"], line["device"]) for line in found))
    quantities = ["wall_median_s", "gradient_error"] if phase == "training" else ["wall_median_s"]
    count = len(places) * len(quantities)
    with plt.rc_context(STYLE):
        ratios = [1.6, 1][: len(quantities)] * len(places)
        if wide:
            figure, axes = plt.subplots(
                count,
                len(frameworks),
                figsize=(min(1.5 + 3.4 * len(frameworks), 13), 0.9 + 2.3 * count),
                sharex=True,
                sharey="row",
                squeeze=False,
                height_ratios=ratios,
            )
        else:  # a framework below the other
            figure, axes = plt.subplots(
                count * len(frameworks),
                1,
                figsize=(NARROW, 1.2 + 2.0 * count * len(frameworks)),
                sharex=True,
                height_ratios=ratios * len(frameworks),
            )
            axes = np.reshape(axes, (len(frameworks), count)).T
        for place, (machine, device) in enumerate(places):
            for column, framework in enumerate(frameworks):
                own = [
                    line
                    for line in found
                    if (line["machine"], line["device"], line["framework"])
                    == (machine, device, framework)
                ]
                for number, quantity in enumerate(quantities):
                    axis = axes[place * len(quantities) + number][column]
                    _panel(axis, own, quantity)
                    if not column or not wide:
                        axis.set_ylabel(
                            "gradient error (relative)" if number else "median batch (s)",
                            fontsize=8,
                        )
                    if not number:
                        more = f", {about['machine_names'][machine]}" if len(places) > 1 else ""
                        called = look(next(iter(own))["implementation"]).name if own else framework
                        axis.set_title(called + more, loc="left")
        levels = [level for level in LEVELS if any(line["level"] == level for line in found)]
        handles = [_key(level) for level in levels]
        figure.legend(handles=handles, loc="outside lower center", ncols=3 if wide else 2)
        for axis in axes[-1]:
            numbered(axis, "year of the release")
    years = sorted({point["year"] for line in found for point in line["points"]})
    return figure, (
        f"Time of a batch of {benchmark}, {phase}, from {years[0]} to {years[-1]}: {len(found)} rows in "
        f"{', '.join(frameworks)}."
    )


def _key(level: str) -> Line2D:
    color, marker = LEVELS[level]
    dashes = "--" if level == CEILING else "-"
    called = CALLED.get(level, level)
    return Line2D([], [], color=color, marker=marker, ls=dashes, label=called, markersize=5, **EDGE)


def _panel(axis: Axes, found: list[Mapping], quantity: str) -> None:
    for line in found:
        color, marker = LEVELS[line["level"]]
        if quantity == "gradient_error" and line["level"] == CEILING:
            continue  # products have no gradients
        points = [point for point in line["points"] if point[quantity]]
        years = [point["year"] for point in points]
        values = [point[quantity] for point in points]
        dashes = "--" if line["level"] == CEILING else "-"
        axis.plot(years, values, color=color, ls=dashes, lw=1.3)
        for point in points:
            if quantity == "wall_median_s":
                ends = point["low"], point["high"]
                span(axis, *ends, point["year"], color, upright=True)
            (mark,) = axis.plot(
                point["year"], point[quantity], color=color, marker=marker, markersize=5, **EDGE
            )
            unit = " s" if quantity == "wall_median_s" else ""
            said = f"{line['name']}, {point['environment']} ({point['version']}): "
            hover(mark, said + three_digits(point[quantity]) + unit)
    axis.set_yscale("log")
    if quantity == "wall_median_s":
        axis.yaxis.set_minor_locator(ticker.LogLocator(subs=(2, 5)))
        axis.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
        axis.yaxis.set_minor_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, nbins=5))
