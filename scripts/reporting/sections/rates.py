"""GFLOP/s of the matrix products by shape, beside the ceilings."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from reporting.sections import Tables
from reporting.style import STYLE, hover, logarithmic, marked, numbered, width

CEILINGS = ("black", "#999999")


def shown(tables: Tables, device: str) -> pd.DataFrame:
    """The rows with a rate."""
    cells = tables.measured(device=device)
    return cells[cells["gflops"].notna()]


def analyse(tables: Tables, about: Mapping, device: str) -> dict | None:
    cells = shown(tables, device)
    return None if cells.empty else {"rows": len(cells), "device": device}


def draw(
    data: Mapping, tables: Tables, about: Mapping, wide: bool, device: str
) -> tuple[plt.Figure, str]:
    """A line a benchmark, a marker an implementation, a bar a ceiling; a panel a machine."""
    cells = shown(tables, device)
    machines = {machine: own for machine, own in cells.groupby("machine", sort=False)}
    heights = [0.7 + 0.21 * own["benchmark"].nunique() for own in machines.values()]
    drawn = _markers(cells)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(machines),
            1,
            figsize=(width(wide, 9.5), (1.3 if wide else 2.5) + sum(heights)),
            sharex=True,
            squeeze=False,
            height_ratios=heights,
        )
        for axis, (machine, own) in zip(axes.flat, machines.items(), strict=True):
            _machine(axis, own, drawn)
            numbered(axis, "GFLOP/s of the matrix products")
            if len(machines) > 1:
                axis.set_title(about["machine_names"][machine], loc="left")
        handles = {
            label: handle
            for axis in axes.flat
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=4 if wide else 1)
    lstms = cells[cells["family"] != "ceiling"].sort_values("gflops")
    if lstms.empty:
        return figure, "Rates of the ceilings; no LSTM was measured."
    best = lstms.iloc[-1]
    return figure, (
        f"Rates of {cells['implementation'].nunique()} implementations on "
        f"{cells['benchmark'].nunique()} shapes, at most {best['gflops']:.0f} GFLOP/s "
        f"({best['name']}, {best['benchmark']})."
    )


def _markers(cells: pd.DataFrame) -> dict[str, dict]:
    """{implementation: how it is drawn, on every machine}"""
    families = dict(zip(cells["implementation"], cells["family"], strict=True))
    ceilings = [name for name, family in families.items() if family == "ceiling"]
    found = {name: drawn | {"ms": 7} for name, drawn in marked(families).items()}
    for number, name in enumerate(ceilings):
        found[name] = {"marker": "|", "ms": 13, "color": CEILINGS[number % 2], "mew": 2}
    return found


def _machine(axis: Axes, cells: pd.DataFrame, drawn: dict[str, dict]) -> None:
    """The panel of one machine."""
    benchmarks = list(dict.fromkeys(cells["benchmark"]))[::-1]
    places = {benchmark: place for place, benchmark in enumerate(benchmarks)}
    groups = list(cells.groupby("implementation", sort=False))
    for position, (implementation, rows) in enumerate(groups):
        # Off the middle of its line by a little, so that equal rates do not hide each other.
        off = 0.08 * (position - (len(groups) - 1) / 2)
        if rows["family"].iloc[0] == "ceiling":
            off = 0
        for number, row in enumerate(rows.itertuples()):
            (point,) = axis.plot(
                row.gflops,
                places[row.benchmark] - off,
                ls="",
                label=None if number else row.name,
                **drawn[implementation],
            )
            hover(point, f"{row.name}, {row.benchmark}: {row.gflops:.0f} GFLOP/s")
    axis.set_yticks(range(len(benchmarks)), benchmarks)
    axis.set_ylim(-0.8, len(benchmarks) - 0.2)
    logarithmic(axis)
