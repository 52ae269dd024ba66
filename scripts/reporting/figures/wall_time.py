"""Wall time of every row, with the published values."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from .style import EDGE, NOTE, PUBLISHED, STYLE, called, framework_legend, logarithmic, look, save

ROW = ["benchmark", "implementation", "environment"]  # what a row is; its phases stand side by side


def names(cells: pd.DataFrame) -> pd.Series:
    """What rows are called: label and family, and whatever else tells one from another."""
    found = called(cells)
    if cells.groupby(["implementation", "benchmark"])["environment"].nunique().gt(1).any():
        found += ", " + cells["environment"]
    if cells["benchmark"].nunique() > 1:
        found += ", " + cells["benchmark"]
    return found


def three_digits(value: float) -> str:
    return f"{value:#.3g}".removesuffix(".")


def wall_time(cells: pd.DataFrame, title: str, stem: Path) -> str:
    """Wall time of every row, its phases side by side, on a log scale, with the published values; a row of panels a
    machine."""
    phases = list(dict.fromkeys(cells["phase"]))
    machines = {machine: own for machine, own in cells.groupby("machine", sort=False)}
    heights = [1 + 0.27 * len(own.drop_duplicates(ROW)) for own in machines.values()]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(machines),
            len(phases),
            figsize=(10, 0.6 + sum(heights)),
            sharex="col",
            sharey="row",
            squeeze=False,
            height_ratios=heights,
        )
        for line, (machine, own) in zip(axes, machines.items(), strict=True):
            _machine(line, own, phases, f", {machine}" if len(machines) > 1 else "")
        figure.suptitle(title)
        published = Line2D([], [], ls="", label="published (its own machine)", **PUBLISHED)
        framework_legend(
            figure, cells, *([published] if cells["published_wall_s"].notna().any() else [])
        )
        save(figure, stem)
    measured = cells[(cells["status"] == "ok") & (cells["family"] != "ceiling")].sort_values(
        "wall_s"
    )
    if measured.empty:
        return f"{title}: no row was measured."
    fastest, slowest = measured.iloc[0], measured.iloc[-1]
    return (
        f"{title}: wall time a batch of {len(measured)} measured cells, from "
        f"{fastest['wall_s']:.3g} s ({fastest['label']}, {fastest['phase']}) to {slowest['wall_s']:.3g} s "
        f"({slowest['label']}, {slowest['phase']})."
    )


def _machine(axes: Sequence[Axes], cells: pd.DataFrame, phases: list[str], called: str) -> None:
    """The panels of one machine, one a phase; `called`: what their titles say of it."""
    rows = cells.drop_duplicates(ROW)[::-1]
    places = {key: place for place, key in enumerate(rows[ROW].itertuples(index=False, name=None))}
    for axis, phase in zip(axes, phases, strict=True):
        shown = cells[cells["phase"] == phase]
        at = [places[key] for key in shown[ROW].itertuples(index=False, name=None)]
        for place, cell in zip(at, shown.itertuples(), strict=True):
            ok, each = cell.status == "ok", look(cell.implementation)
            if ok:
                low, high = cell.wall_low_s, cell.wall_high_s
                axis.plot([low, high], [place] * 2, color=each.color, lw=3, alpha=0.5)
                axis.plot(cell.wall_s, place, each.marker, color=each.color, ms=7, **EDGE)
            # In a column of their own, where no point can hide them.
            axis.annotate(
                three_digits(cell.wall_s) if ok else cell.status,
                (1.01, place),
                xycoords=("axes fraction", "data"),
                va="center",
                **({"fontsize": 8} if ok else NOTE),
            )
        axis.plot(shown["published_wall_s"], at, ls="", **PUBLISHED)
        axis.set(xlabel="wall time of one batch (s)", title=phase + called)
        logarithmic(axis)
        axis.tick_params(axis="y", length=0)
        axis.margins(x=0.05)
    axes[0].set_yticks(range(len(rows)), names(rows))
    axes[0].set_ylim(-0.8, len(rows) - 0.2)
