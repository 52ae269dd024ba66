"""Figures of the documents: one style, readable in print, in grey and for colour-blind readers.

Every figure takes a document's rows of cells.csv on one device, with `label`, `family` and `flexibility`, is
written as SVG and PNG, and returns its alternative text: what a reader who cannot see it should know.
"""

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

import matrix


class Look(NamedTuple):
    """How a framework is drawn: by colour and by marker, as either alone may be lost."""

    name: str
    color: str
    marker: str


# Okabe & Ito (2008): eight colours that stay apart under the common colour deficiencies.
LOOKS = {
    "tensorflow": Look("TensorFlow", "#E69F00", "s"),
    "pytorch": Look("PyTorch", "#0072B2", "o"),
    "tvm": Look("TVM", "#009E73", "^"),
    "onnxruntime": Look("ONNX Runtime", "#56B4E9", "P"),
    "openvino": Look("OpenVINO", "#D55E00", "X"),
}
OTHER = Look("other", "#CC79A7", "v")
EDGE = {"markeredgecolor": "black", "markeredgewidth": 0.5}
PUBLISHED = {"color": "none", "marker": "D", "markeredgecolor": "black", "markersize": 5}
NOTE = {"fontsize": 7.5, "style": "italic", "color": "#444444"}
STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.titlesize": 11,
    "figure.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.hashsalt": "flexibility",  # the same figure gives the same file
    "svg.fonttype": "none",  # text stays text: searchable, and readable aloud
}
FLEXIBILITY = {
    "fine-grained": "fine-grained\noperators",
    "loop": "symbolic\nloop",
    "compiled": "compiled",
    "cell": "fused\ncell",
    "monolithic": "monolithic\nkernel",
}
ROW = ["benchmark", "implementation", "environment"]  # what a row is; its phases stand side by side


def save(figure: plt.Figure, stem: Path) -> None:
    """Write a figure as SVG and PNG, without a date, so that equal figures are equal files."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(stem.with_suffix(".png"), dpi=150)
    plt.close(figure)


def look(implementation: str) -> Look:
    return LOOKS.get(implementation.split("/")[0], OTHER)


def names(cells: pd.DataFrame) -> pd.Series:
    """What rows are called: label and family, and whatever else tells one from another."""
    found = cells["label"] + " (" + cells["family"] + ")"
    if cells.groupby(["implementation", "benchmark"])["environment"].nunique().gt(1).any():
        found += ", " + cells["environment"]
    if cells["benchmark"].nunique() > 1:
        found += ", " + cells["benchmark"]
    return found


def framework_legend(figure: plt.Figure, cells: pd.DataFrame, *others: Line2D) -> None:
    """Below the axes: the marker of every framework that has a number, then `others`."""
    measured = cells[cells["status"] == "ok"]["implementation"]
    looks = dict.fromkeys(map(look, measured))
    handles = [
        Line2D([], [], ls="", color=each.color, marker=each.marker, label=each.name, **EDGE)
        for each in looks
    ]
    if handles or others:
        figure.legend(handles=[*handles, *others], loc="outside lower center", ncols=6)


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


def three_digits(value: float) -> str:
    return f"{value:#.3g}".removesuffix(".")


def trade_off(cells: pd.DataFrame, title: str, stem: Path) -> str:
    """Flexibility against throughput, with the ceiling of torch.mm: a panel a benchmark and phase, and one more
    for each earlier generation of environments that has a number there."""
    cells = cells[cells["flexibility"].notna()]
    families = cells.groupby("label")["family"].transform("nunique")
    called = cells["label"] + " (" + cells["family"] + ")"
    cells = cells.assign(
        name=cells["label"].where(families == 1, called),
        generation=cells["environment"].map(matrix.generation),
    )
    looks = list(dict.fromkeys(map(look, cells["implementation"])))
    panels = [
        (key, shown)
        for key, shown in cells.groupby(["benchmark", "phase", "generation"], sort=False)
        if key[-1] == "now" or (shown["status"] == "ok").any()
    ]
    one, alternative = cells["benchmark"].nunique() == 1, []
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            max(1, len(panels)),
            1,
            figsize=(10.5, 1 + 3.3 * len(panels)),
            sharex=True,
            squeeze=False,
        )
        for axis, ((benchmark, phase, generation), shown) in zip(axes.flat, panels, strict=False):
            words = ["" if one else benchmark, phase, "" if generation == "now" else generation]
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
    """The rows of one flexibility: those with a number as points with names, the others as a list below."""
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
        "\n".join([f"{status}:", *dict.fromkeys(group["name"])])
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


def _logarithmic(axis: Axes) -> None:
    """A logarithmic x axis with plain numbers at 1, 2 and 5."""
    axis.set_xscale("log")
    axis.xaxis.set_minor_locator(ticker.LogLocator(subs=(2, 5)))
    axis.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.tick_params(axis="x", which="both", length=3)


def wall_time(cells: pd.DataFrame, title: str, stem: Path) -> str:
    """Wall time of every row, its phases side by side, on a log scale, with the published values."""
    phases = list(dict.fromkeys(cells["phase"]))
    rows = cells.drop_duplicates(ROW)[::-1]
    places = {key: place for place, key in enumerate(rows[ROW].itertuples(index=False, name=None))}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, len(phases), figsize=(10, 1.6 + 0.27 * len(rows)), sharey=True, squeeze=False
        )
        for axis, phase in zip(axes.flat, phases, strict=True):
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
            axis.set(xlabel="wall time of one batch (s)", title=phase)
            _logarithmic(axis)
            axis.tick_params(axis="y", length=0)
            axis.margins(x=0.05)
        axes.flat[0].set_yticks(range(len(rows)), names(rows))
        axes.flat[0].set_ylim(-0.8, len(rows) - 0.2)
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


MARKERS = ("^", "v", "<", ">", "p", "h")  # of a framework's second implementation and later ones
CEILINGS = ("black", "#999999")


def rates(cells: pd.DataFrame, title: str, stem: Path) -> str:
    """GFLOP/s by benchmark, a line a benchmark, a marker an implementation, a bar a ceiling."""
    left_out = cells[cells["status"] == "not-run"]
    cells = cells[cells["status"] != "not-run"]
    measured = cells[cells["status"] == "ok"]
    benchmarks = list(dict.fromkeys(cells["benchmark"]))[::-1]
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(9.5, 2 + 0.21 * len(benchmarks)))
        used = []
        groups = list(measured.groupby("implementation", sort=False))
        for position, (implementation, rows) in enumerate(groups):
            # Off the middle of its line by a little, so that equal rates do not hide each other.
            off = 0.08 * (position - (len(groups) - 1) / 2)
            each = look(implementation)
            if rows["family"].iloc[0] == "ceiling":
                drawn = {"marker": "|", "ms": 13, "color": CEILINGS[used.count(None) % 2], "mew": 2}
                used.append(None)
                off = 0
            else:
                variant = used.count(each)
                marker = MARKERS[(variant - 1) % len(MARKERS)] if variant else each.marker
                drawn = {"marker": marker, "color": each.color, "ms": 7, **EDGE}
                if variant % 2:  # every other one hollow
                    drawn |= {"mfc": "white", "markeredgecolor": each.color, "markeredgewidth": 1.4}
                used.append(each)
            axis.plot(
                rows["gflops"],
                rows["benchmark"].map(benchmarks.index) - off,
                ls="",
                label=rows["label"].iloc[0],
                **drawn,
            )
        for place, benchmark in enumerate(benchmarks):
            missing = cells[(cells["benchmark"] == benchmark) & (cells["status"] != "ok")]
            words = [
                f"{status}: {', '.join(group['label'])}"
                for status, group in missing.groupby("status", sort=False)
            ]
            where = {"xycoords": ("axes fraction", "data"), "va": "center"}
            axis.annotate("; ".join(words), (1.01, place), **where, **NOTE)
        axis.set_yticks(range(len(benchmarks)), benchmarks)
        axis.set_ylim(-0.8, len(benchmarks) - 0.2)
        axis.set_xlabel("GFLOP/s of the matrix products")
        _logarithmic(axis)
        if not measured.empty:
            figure.legend(loc="outside lower center", ncols=5)
        figure.suptitle(title)
        if not left_out.empty:
            axis.set_title(
                f"not run under this protocol: {len(left_out)} cells on "
                f"{left_out['benchmark'].nunique()} shapes",
                loc="right",
                **(NOTE | {"fontweight": "normal"}),
            )
        save(figure, stem)
    if measured.empty:
        return f"{title}: no row was measured."
    best = measured[measured["family"] != "ceiling"].sort_values("gflops").iloc[-1]
    return (
        f"{title}: rates of {measured['implementation'].nunique()} implementations on "
        f"{measured['benchmark'].nunique()} shapes, at most {best['gflops']:.0f} GFLOP/s "
        f"({best['label']}, {best['benchmark']})."
    )
