"""Time of a batch, a bar a row: the chart of document 003."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from plan.matrix import NOW
from reporting.layout import none
from reporting.sections import Tables, wall_times
from reporting.style import (
    STYLE,
    framework_legend,
    hover,
    look,
    numbered,
    three_digits,
    width,
    wrapped,
)

analyse, shown = wall_times.analyse, wall_times.shown


def draw(
    data: Mapping, tables: Tables, about: Mapping, wide: bool, device: str, benchmark: str
) -> tuple[plt.Figure, str]:
    """Hatched in environments of the time; a panel a machine."""
    cells = shown(tables, device, benchmark)
    machines = {machine: own for machine, own in cells.groupby("machine", sort=False)}
    said = "mean time of one batch (s) ± standard deviation over batches"
    heights = [1 + (0.3 if wide else 0.5) * len(own) for own in machines.values()]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(machines),
            1,
            figsize=(width(wide, 9.5), 0.6 + sum(heights)),
            sharex=True,
            squeeze=False,
            height_ratios=heights,
        )
        for axis, (machine, own) in zip(axes.flat, machines.items(), strict=True):
            _machine(axis, own, wide)
            numbered(axis, said if wide else said.replace(" ±", "\n±"))
            if len(machines) > 1:
                axis.set_title(about["machine_names"][machine], loc="left")
        # Of all panels, once the longest bar is there: from then on nothing widens them.
        axes[0, 0].set_xlim(left=0)
        framework_legend(figure, cells, wide=wide)
    ordered = cells.sort_values("wall_s")
    slowest, fastest = (
        f"{row.wall_s:.3g} s ({row.label}, {row.environment})"
        for row in ordered.iloc[[-1, 0]].itertuples()
    )
    return figure, (
        f"Mean time of a batch of {benchmark}: {len(cells)} rows, from {fastest} to {slowest}."
    )


def _machine(axis: Axes, cells: pd.DataFrame, wide: bool) -> None:
    """The panel of one machine."""
    rows = cells[::-1].reset_index(drop=True)
    for place, row in enumerate(rows.itertuples()):
        then = row.generation != NOW
        bars = axis.barh(
            place,
            row.wall_s,
            xerr=row.wall_std_s,
            height=0.7,
            color=look(row.implementation).color,
            hatch="///" if then else None,
            edgecolor="white" if then else "none",
            error_kw={"lw": 1, "capsize": 2},
        )
        hover(bars[0], f"{row.label}, {row.environment}: mean {three_digits(row.wall_s)} s")
        axis.annotate(
            f"{row.wall_s:.3g}" + ("" if none(row.wall_std_s) else f" ± {row.wall_std_s:.2g}"),
            (1.01, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8,
        )
    names = rows["label"] + ", " + rows["environment"]
    axis.set_yticks(range(len(rows)), [wrapped(name, wide) for name in names])
    axis.set_ylim(-0.8, len(rows) - 0.2)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="y", visible=False)
