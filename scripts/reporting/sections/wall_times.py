"""Time of every row of a benchmark, its phases side by side, with the published values."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reporting.sections import Tables
from reporting.style import (
    EDGE,
    PUBLISHED,
    STYLE,
    framework_legend,
    hover,
    logarithmic,
    look,
    numbered,
    span,
    three_digits,
    width,
    wrapped,
)

ROW = ["benchmark", "implementation", "environment"]  # what a row is; its phases stand side by side


def shown(tables: Tables, device: str, benchmark: str) -> pd.DataFrame:
    """The rows with a number."""
    return tables.measured(device=device, benchmark=benchmark)


def analyse(tables: Tables, about: Mapping, device: str, benchmark: str) -> dict | None:
    cells = shown(tables, device, benchmark)
    return None if cells.empty else {"rows": len(cells), "device": device}


def draw(
    data: Mapping, tables: Tables, about: Mapping, wide: bool, device: str, benchmark: str
) -> tuple[plt.Figure, str]:
    """On a log scale, with the published values; a row of panels a machine."""
    cells = shown(tables, device, benchmark)
    phases = list(dict.fromkeys(cells["phase"]))
    machines = {machine: own for machine, own in cells.groupby("machine", sort=False)}
    heights = [
        1 + (0.27 if wide else 0.36) * len(own.drop_duplicates(ROW)) for own in machines.values()
    ]
    shape = (len(machines), len(phases)) if wide else (len(machines) * len(phases), 1)
    if not wide:
        heights = [each for each in heights for _ in phases]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            *shape,
            figsize=(width(wide, 10), 0.6 + sum(heights)),
            sharex="col" if wide else "none",
            squeeze=False,
            height_ratios=heights,
        )
        lines = axes.reshape(len(machines), len(phases))
        for line, (machine, own) in zip(lines, machines.items(), strict=True):
            called = f", {about['machine_names'][machine]}" if len(machines) > 1 else ""
            _machine(line, own, phases, called, wide)
        published = Line2D([], [], ls="", label="published (its own machine)", **PUBLISHED)
        known = [published] if cells["published_wall_s"].notna().any() else []
        framework_legend(figure, cells, *known, wide=wide)
    lstms = cells[cells["family"] != "ceiling"].sort_values("wall_median_s")
    if lstms.empty:
        return figure, f"Time of a batch of {benchmark}: no LSTM was measured."
    fastest, slowest = lstms.iloc[0], lstms.iloc[-1]
    return figure, (
        f"Time of a batch of {benchmark}: {len(lstms)} measured cells, from "
        f"{fastest['wall_median_s']:.3g} s ({fastest['name']}, {fastest['phase']}) to "
        f"{slowest['wall_median_s']:.3g} s ({slowest['name']}, {slowest['phase']})."
    )


def _names(rows: pd.DataFrame) -> pd.Series:
    """What rows are called, with the environment where one implementation has several."""
    several = rows.groupby("implementation")["environment"].transform("nunique") > 1
    return rows["name"].where(~several, rows["name"] + ", " + rows["environment"])


def _machine(
    axes: Sequence[Axes], cells: pd.DataFrame, phases: list[str], called: str, wide: bool
) -> None:
    """The panels of one machine, one a phase; `called`: what their titles say of it."""
    rows = cells.drop_duplicates(ROW)[::-1]
    places = {key: place for place, key in enumerate(rows[ROW].itertuples(index=False, name=None))}
    for number, (axis, phase) in enumerate(zip(axes, phases, strict=True)):
        own = cells[cells["phase"] == phase]
        at = [places[key] for key in own[ROW].itertuples(index=False, name=None)]
        for place, cell in zip(at, own.itertuples(), strict=True):
            each, times = look(cell.implementation), cell.process_medians_s
            span(axis, min(times), max(times), place, each.color)
            (point,) = axis.plot(
                cell.wall_median_s, place, each.marker, color=each.color, ms=7, **EDGE
            )
            hover(
                point,
                f"{cell.name}, {cell.environment}, {phase}: {three_digits(cell.wall_median_s)} s",
            )
            # In a column of their own, where no point can hide them.
            axis.annotate(
                three_digits(cell.wall_median_s),
                (1.01, place),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8,
            )
        axis.plot(own["published_wall_s"], at, ls="", **PUBLISHED)
        axis.set_title(phase + called)
        logarithmic(axis)
        numbered(axis, "median batch (s)")
        axis.tick_params(axis="y", length=0)
        axis.margins(x=0.05)
        named = not wide or not number
        names = [wrapped(name, wide) if named else "" for name in _names(rows)]
        axis.set_yticks(range(len(rows)), names)
        axis.set_ylim(-0.8, len(rows) - 0.2)
