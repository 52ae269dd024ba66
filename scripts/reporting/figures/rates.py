"""GFLOP/s by benchmark."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from .style import EDGE, NOTE, STYLE, logarithmic, look, save

MARKERS = ("^", "v", "<", ">", "p", "h")  # of a framework's second implementation and later ones
CEILINGS = ("black", "#999999")


def rates(cells: pd.DataFrame, title: str, stem: Path) -> str:
    """GFLOP/s by benchmark, a line a benchmark, a marker an implementation, a bar a ceiling; a panel a machine."""
    measured = cells[cells["status"] == "ok"]
    machines = {machine: own for machine, own in cells.groupby("machine", sort=False)}
    heights = [
        0.7 + 0.21 * own.loc[own["status"] != "not-run", "benchmark"].nunique()
        for own in machines.values()
    ]
    drawn = _markers(measured)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(machines),
            1,
            figsize=(9.5, 1.3 + sum(heights)),
            sharex=True,
            squeeze=False,
            height_ratios=heights,
        )
        for axis, (machine, own) in zip(axes.flat, machines.items(), strict=True):
            _machine(axis, own, drawn)
            if len(machines) > 1:
                axis.set_title(machine, loc="left")
        axes.flat[-1].set_xlabel("GFLOP/s of the matrix products")
        if not measured.empty:
            handles = {
                label: handle
                for axis in axes.flat
                for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
            }
            figure.legend(handles.values(), handles, loc="outside lower center", ncols=5)
        figure.suptitle(title)
        save(figure, stem)
    if measured.empty:
        return f"{title}: no row was measured."
    best = measured[measured["family"] != "ceiling"].sort_values("gflops").iloc[-1]
    return (
        f"{title}: rates of {measured['implementation'].nunique()} implementations on "
        f"{measured['benchmark'].nunique()} shapes, at most {best['gflops']:.0f} GFLOP/s "
        f"({best['label']}, {best['benchmark']})."
    )


def _markers(measured: pd.DataFrame) -> dict[str, dict]:
    """{implementation: how it is drawn, on every machine}"""
    found, used = {}, []
    for implementation, family in dict(
        zip(measured["implementation"], measured["family"], strict=True)
    ).items():
        each = look(implementation)
        if family == "ceiling":
            drawn = {"marker": "|", "ms": 13, "color": CEILINGS[used.count(None) % 2], "mew": 2}
            used.append(None)
        else:
            variant = used.count(each)
            marker = MARKERS[(variant - 1) % len(MARKERS)] if variant else each.marker
            drawn = {"marker": marker, "color": each.color, "ms": 7, **EDGE}
            if variant % 2:  # every other one hollow
                drawn |= {"mfc": "white", "markeredgecolor": each.color, "markeredgewidth": 1.4}
            used.append(each)
        found[implementation] = drawn
    return found


def _machine(axis: Axes, cells: pd.DataFrame, drawn: dict[str, dict]) -> None:
    """The panel of one machine."""
    left_out = cells[cells["status"] == "not-run"]
    cells = cells[cells["status"] != "not-run"]
    measured = cells[cells["status"] == "ok"]
    benchmarks = list(dict.fromkeys(cells["benchmark"]))[::-1]
    places = {benchmark: place for place, benchmark in enumerate(benchmarks)}
    groups = list(measured.groupby("implementation", sort=False))
    for position, (implementation, rows) in enumerate(groups):
        # Off the middle of its line by a little, so that equal rates do not hide each other.
        off = 0.08 * (position - (len(groups) - 1) / 2)
        if rows["family"].iloc[0] == "ceiling":
            off = 0
        axis.plot(
            rows["gflops"],
            rows["benchmark"].map(places) - off,
            ls="",
            label=rows["label"].iloc[0],
            **drawn[implementation],
        )
    for benchmark, missing in cells[cells["status"] != "ok"].groupby("benchmark"):
        words = [
            f"{status}: {', '.join(group['label'])}"
            for status, group in missing.groupby("status", sort=False)
        ]
        where = {"xycoords": ("axes fraction", "data"), "va": "center"}
        axis.annotate("; ".join(words), (1.01, places[benchmark]), **where, **NOTE)
    axis.set_yticks(range(len(benchmarks)), benchmarks)
    axis.set_ylim(-0.8, len(benchmarks) - 0.2)
    logarithmic(axis)
    if not left_out.empty:
        axis.set_title(
            f"not run under this protocol: {len(left_out)} cells on "
            f"{left_out['benchmark'].nunique()} shapes",
            loc="right",
            **(NOTE | {"fontweight": "normal"}),
        )
