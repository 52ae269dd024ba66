"""Mean time of a batch, a bar a row: the chart of document 003."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from plan import matrix

from .style import NOTE, STYLE, framework_legend, look, save


def bars(cells: pd.DataFrame, title: str, stem: Path) -> str:
    """Wall time of a batch and the standard deviation of all batches, a bar a row, hatched in environments of the
    time; rows that this configuration leaves out are counted only. A panel a machine."""
    machines = {machine: own for machine, own in cells.groupby("machine", sort=False)}
    heights = [1 + 0.3 * (own["status"] != "not-run").sum() for own in machines.values()]
    measured = cells[cells["status"] == "ok"]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(machines),
            1,
            figsize=(9.5, 0.6 + sum(heights)),
            sharex=True,
            squeeze=False,
            height_ratios=heights,
        )
        for axis, (machine, own) in zip(axes.flat, machines.items(), strict=True):
            _machine(axis, own)
            if len(machines) > 1:
                axis.set_title(machine, loc="left")
        axes.flat[-1].set_xlabel("time of one batch (s): mean ± standard deviation over batches")
        figure.suptitle(title)
        framework_legend(figure, measured)
        save(figure, stem)
    if measured.empty:
        return f"{title}: no row was measured."
    ordered = measured.sort_values("wall_s")
    slowest, fastest = (
        f"{row.wall_s:.3g} s ({row.label}, {row.environment})"
        for row in ordered.iloc[[-1, 0]].itertuples()
    )
    return (
        f"{title}: mean time a batch of {len(measured)} measured rows, from {fastest} to {slowest}."
    )


def _machine(axis: Axes, cells: pd.DataFrame) -> None:
    """The panel of one machine."""
    left_out = cells["status"] == "not-run"
    rows = cells[~left_out][::-1].reset_index(drop=True)
    for place, row in enumerate(rows.itertuples()):
        ok = row.status == "ok"
        if ok:
            then = matrix.generation(row.environment) != "now"
            axis.barh(
                place,
                row.wall_s,
                xerr=row.wall_std_s,
                height=0.7,
                color=look(row.implementation).color,
                hatch="///" if then else None,
                edgecolor="white" if then else "none",
                error_kw={"lw": 1, "capsize": 2},
            )
        axis.annotate(
            f"{row.wall_s:.3g} ± {row.wall_std_s:.2g}" if ok else row.status,
            (1.01, place),
            xycoords=("axes fraction", "data"),
            va="center",
            **({"fontsize": 8} if ok else NOTE),
        )
    axis.set_yticks(range(len(rows)), rows["label"] + ", " + rows["environment"])
    axis.set_ylim(-0.8, len(rows) - 0.2)
    axis.set_xlim(left=0)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="y", visible=False)
    if left_out.any():
        note = f"not run under this configuration: {left_out.sum()} rows"
        axis.set_title(note, loc="right", **(NOTE | {"fontweight": "normal"}))
