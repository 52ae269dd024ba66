"""Flexibility against throughput."""

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib import ticker
from matplotlib.axes import Axes

from plan import matrix

from .style import EDGE, NOTE, STYLE, Look, called, framework_legend, look, save

FLEXIBILITY = {
    "fine-grained": "fine-grained\noperators",
    "loop": "symbolic\nloop",
    "compiled": "compiled",
    "cell": "fused\ncell",
    "monolithic": "monolithic\nkernel",
}


def spread(wanted: Sequence[float], heights: Sequence[float]) -> np.ndarray:
    """Centres for labels of these heights, near the wanted ones and in their order, that do not overlap."""
    placed, order = np.array(wanted, dtype=float), np.argsort(wanted, kind="stable")
    for _ in range(200):
        for low, high in pairwise(order):
            apart = (heights[low] + heights[high]) / 2
            lack = max(0.0, apart - (placed[high] - placed[low]))
            placed[low] -= lack / 2
            placed[high] += lack / 2
    return placed


def trade_off(cells: pd.DataFrame, title: str, stem: Path) -> str:
    """Flexibility against throughput, with the ceiling of torch.mm: a panel a machine, benchmark and phase, and
    one more for each earlier generation of environments that has a number there."""
    cells = cells[cells["flexibility"].notna()]
    families = cells.groupby("label")["family"].transform("nunique")
    cells = cells.assign(
        name=cells["label"].where(families == 1, called(cells)),
        generation=cells["environment"].map(matrix.generation),
    )
    looks = list(dict.fromkeys(map(look, cells["implementation"])))
    panels = [
        (key, shown)
        for key, shown in cells.groupby(["machine", "benchmark", "phase", "generation"], sort=False)
        if key[-1] == "now" or (shown["status"] == "ok").any()
    ]
    one, alternative = cells[["machine", "benchmark"]].nunique() == 1, []
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            max(1, len(panels)),
            1,
            figsize=(10.5, 1 + 3.3 * len(panels)),
            sharex=True,
            squeeze=False,
        )
        for axis, (key, shown) in zip(axes.flat, panels, strict=False):
            machine, benchmark, phase, generation = key
            words = ["" if one["machine"] else machine, "" if one["benchmark"] else benchmark]
            words += [phase, "" if generation == "now" else generation]
            panel = ", ".join(filter(None, words))
            axis.set(
                title=panel,
                ylabel="sequences per second",
                xlim=(-0.3, 4.95),
            )
            axis.set_xticks(range(len(FLEXIBILITY)), FLEXIBILITY.values())
            axis.grid(axis="x", visible=False)
            measured = shown[shown["status"] == "ok"]
            if not measured.empty:
                _scale(axis, measured)
                alternative.append(f"{panel}: {_range(measured)}")
            for position, flexibility in enumerate(FLEXIBILITY):
                _column(axis, position, shown[shown["flexibility"] == flexibility], looks)
        axes.flat[-1].set_xlabel("← more can be changed\u2003\u2003\u2003less can be changed →")
        figure.suptitle(title)
        framework_legend(figure, cells)
        save(figure, stem)
    return f"{title}: sequences per second by flexibility. " + (
        "; ".join(alternative) + "." if alternative else "No row was measured."
    )


def _scale(axis: Axes, measured: pd.DataFrame) -> None:
    """Limits, and the ceiling where there is one: at the same height in every panel that has it."""
    rates = measured["sequences_per_s"]
    ceiling = measured["ceiling_sequences_per_s"].max()
    highest = (rates * measured["wall_s"] / measured["wall_low_s"]).max()
    top = np.nanmax([rates.max(), highest, ceiling])
    if top > 20 * rates.min():
        axis.set(yscale="log", ylim=(rates.min() / 2, top * 1.5))
        axis.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    else:
        axis.set_ylim(0, top * 1.1)
    if pd.notna(ceiling):
        axis.axhline(ceiling, color="black", ls="--", lw=1)
        note = "GEMM ceiling: torch.mm's rate on the model's matrix products"
        axis.annotate(note, (-0.28, ceiling), xytext=(0, 3), textcoords="offset points", **NOTE)
        share = axis.secondary_yaxis(
            "right", functions=(lambda y: 100 * y / ceiling, lambda y: y * ceiling / 100)
        )
        share.set_ylabel("share of the ceiling (%)")
        share.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))


def _column(axis: Axes, position: int, rows: pd.DataFrame, looks: list[Look]) -> None:
    """The rows of one flexibility: those with a number as points with names, below them those whose status says
    more than that this configuration leaves them out."""
    if rows["family"].nunique() == 1:
        rows = rows.assign(name=rows["label"])
    measured = rows[rows["status"] == "ok"]
    to_fraction = axis.transScale + axis.transLimits  # data to axes, as long as limits stay
    wanted = [to_fraction.transform((0, rate))[1] for rate in measured["sequences_per_s"]]
    labels = [textwrap.fill(name, 20, break_on_hyphens=False) for name in measured["name"]]
    heights = spread(wanted, [0.05 * (1 + label.count("\n")) for label in labels])
    for row, label, height in zip(measured.itertuples(), labels, heights, strict=True):
        each = look(row.implementation)
        x = position + 0.1 * (looks.index(each) - (len(looks) - 1) / 2)
        low, high = (
            row.sequences_per_s * row.wall_s / edge for edge in (row.wall_high_s, row.wall_low_s)
        )
        axis.plot([x, x], [low, high], color=each.color, lw=2, alpha=0.6)
        axis.plot(x, row.sequences_per_s, each.marker, color=each.color, markersize=8, **EDGE)
        axis.annotate(
            label,
            (x, row.sequences_per_s),
            xytext=(position + 0.2, height),
            textcoords=axis.get_xaxis_transform(),
            va="center",
            fontsize=7.5,
            linespacing=1,
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": "#888888", "shrinkB": 4},
        )
    missing = [
        f"not run: {len(group)} rows"
        if status == "not-run"
        else "\n".join([f"{status}:", *dict.fromkeys(group["name"])])
        for status, group in rows[rows["status"] != "ok"].groupby("status", sort=False)
    ]
    where = {"xycoords": axis.get_xaxis_transform(), "ha": "center", "va": "bottom"}
    axis.annotate("\n".join(missing), (position, 0.02), **where, **NOTE)


def _range(measured: pd.DataFrame) -> str:
    """The slowest and the fastest row of a panel, in words."""
    ordered = measured.sort_values("sequences_per_s")

    def words(row: pd.Series) -> str:
        found = f"{row['sequences_per_s']:.0f} ({row['name']}, {row['flexibility']}"
        share = row["sequences_per_s"] / row["ceiling_sequences_per_s"]
        return found + (f", {100 * share:.0f} % of the GEMM ceiling)" if share == share else ")")

    return f"{len(ordered)} rows from {words(ordered.iloc[0])} to {words(ordered.iloc[-1])}"
