"""Where the time of a batch goes on a GPU: what its kernels take, and how long it waits for the host to launch them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reporting.blocks import Block, Table, Text
from reporting.layout import number, percent, time
from reporting.sections import Tables
from reporting.style import STYLE, hover, look, numbered, three_digits, width, wrapped


def shown(tables: Tables, benchmark: str) -> pd.DataFrame:
    """The rows of which a framework told it, with `waiting`, the share of a batch in which no kernel runs."""
    cells = tables.measured(device="gpu", benchmark=benchmark)
    cells = cells[cells["launched_s"].notna()].sort_values(["phase", "wall_median_s"])
    waiting = 1 - cells["kernel_s"] / cells["wall_median_s"]
    return cells.assign(waiting=waiting.clip(lower=0), each_s=cells["kernel_s"] / cells["kernels"])


@dataclass(frozen=True)
class Row:
    name: str
    phase: str
    batch_s: float
    launched_s: float  # until the host has launched everything
    kernel_s: float
    kernels: float
    waiting: float  # share of a batch in which no kernel runs


@dataclass(frozen=True)
class Answer:
    rows: list[Row]


def analyse(tables: Tables, about: Mapping, benchmark: str) -> Answer | None:
    cells = shown(tables, benchmark)
    columns = ["name", "phase", "wall_median_s", "launched_s", "kernel_s", "kernels", "waiting"]
    found = [Row(*row) for row in cells[columns].itertuples(index=False)]
    return Answer(found) if found else None


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        "*Launched*: until the host has launched all of a batch. *Kernels*: the sum of kernels and copies on the GPU (CUPTI). Where "
        "launching takes as long as the batch, the GPU waits for the host."
    )
    rows = [
        [
            *(each.name, each.phase, time(each.batch_s), time(each.launched_s)),
            *(time(each.kernel_s), number(each.kernels, 0), percent(each.waiting)),
        ]
        for each in answer.rows
    ]
    heads = ["Implementation", "Phase", "Batch", "Launched", "Kernels", "Number of kernels"]
    yield Table([*heads, "GPU waits"], rows)


def draw(
    answer: Answer, tables: Tables, about: Mapping, wide: bool, benchmark: str
) -> tuple[plt.Figure, str] | None:
    """A bar a row, its kernels' part full, and a mark where the host had launched everything; a panel a phase."""
    cells = shown(tables, benchmark)
    cells = cells[cells["kernel_s"].notna()]
    if cells.empty:
        return None
    panels = list(cells.groupby("phase", sort=False))
    heights = [1 + (0.27 if wide else 0.36) * len(own) for _, own in panels]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(panels),
            1,
            figsize=(width(wide, 9), 0.6 + sum(heights)),
            squeeze=False,
            height_ratios=heights,
        )
        for axis, (phase, own) in zip(axes.flat, panels, strict=True):
            _panel(axis, own, wide)
            axis.set_title(str(phase), loc="left")
            numbered(axis, "median batch (ms)")
        marks = Line2D([], [], ls="", marker="|", color="black", ms=9, label="everything launched")
        parts = [Patch(color="#666666", label="kernels and copies")]
        parts.append(Patch(color="#666666", alpha=0.3, label="the GPU waits"))
        figure.legend(handles=[*parts, marks], loc="outside lower center", ncols=3 if wide else 1)
    most, least = (
        cells.loc[each] for each in (cells["waiting"].idxmax(), cells["waiting"].idxmin())
    )
    return figure, (
        f"Share of a batch of {benchmark} in which the GPU waits: {len(cells)} cells, from "
        f"{least['waiting']:.0%} ({least['name']}, {least['phase']}) to {most['waiting']:.0%} "
        f"({most['name']}, {most['phase']})."
    )


def _panel(axis: Axes, cells: pd.DataFrame, wide: bool) -> None:
    ordered = cells[::-1].reset_index(drop=True)
    for place, row in enumerate(ordered.itertuples()):
        color = look(row.implementation).color
        busy = min(row.kernel_s, row.wall_median_s)
        axis.barh(place, 1e3 * row.wall_median_s, height=0.7, color=color, alpha=0.3)
        (bar,) = axis.barh(place, 1e3 * busy, height=0.7, color=color)
        axis.plot(1e3 * row.launched_s, place, "|", color="black", ms=9)
        hover(
            bar,
            f"{row.name}, {row.environment}: {row.kernels:.0f} kernels, {three_digits(1e3 * row.kernel_s)} of "
            f"{three_digits(1e3 * row.wall_median_s)} ms",
        )
    axis.set_yticks(range(len(ordered)), [wrapped(name, wide) for name in ordered["name"]])
    axis.set_ylim(-0.8, len(ordered) - 0.2)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="y", visible=False)
