"""Where the time of a batch goes on a GPU: what its kernels take, and how long it waits for the host to launch them."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reporting.sections import Tables, rows
from reporting.style import STYLE, hover, look, numbered, three_digits, width, wrapped

COLUMNS = ("machine", "name", "environment", "phase", "wall_median_s", "launched_s", "span_s")


def shown(tables: Tables, benchmark: str) -> pd.DataFrame:
    """The rows of which a framework told it, with `waiting`, the share of a batch in which no kernel runs."""
    cells = tables.measured(device="gpu", benchmark=benchmark)
    cells = cells[cells["launched_s"].notna()].sort_values(["machine", "phase", "wall_median_s"])
    waiting = 1 - cells["kernel_s"] / cells["wall_median_s"]
    return cells.assign(waiting=waiting.clip(lower=0), each_s=cells["kernel_s"] / cells["kernels"])


def analyse(tables: Tables, about: Mapping, benchmark: str) -> dict | None:
    """{"rows": [{COLUMNS, "kernel_s", "kernels", "each_s": of a kernel, "waiting"}]}"""
    cells = shown(tables, benchmark)
    if cells.empty:
        return None
    return {"rows": rows(cells, *COLUMNS, "kernel_s", "kernels", "each_s", "waiting")}


def draw(
    data: Mapping, tables: Tables, about: Mapping, wide: bool, benchmark: str
) -> tuple[plt.Figure, str] | None:
    """A bar a row, its kernels' part full, and a mark where the host had launched everything; a panel a machine and
    phase."""
    cells = shown(tables, benchmark)
    cells = cells[cells["kernel_s"].notna()]
    if cells.empty:
        return None
    panels = list(cells.groupby(["machine", "phase"], sort=False))
    heights = [1 + (0.27 if wide else 0.36) * len(own) for _, own in panels]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(panels),
            1,
            figsize=(width(wide, 9), 0.6 + sum(heights)),
            squeeze=False,
            height_ratios=heights,
        )
        several = cells["machine"].nunique() > 1
        for axis, ((machine, phase), own) in zip(axes.flat, panels, strict=True):
            _panel(axis, own, wide)
            called = f", {about['machine_names'][machine]}" if several else ""
            axis.set_title(phase + called, loc="left")
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
