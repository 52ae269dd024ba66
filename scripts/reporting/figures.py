"""Figures of the documents: one style, readable in print and for colour-blind readers."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib import ticker

# Okabe & Ito (2008): eight colours that stay apart under the common colour deficiencies.
COLOURS = {
    "tensorflow": "#E69F00",
    "pytorch": "#0072B2",
    "tvm": "#009E73",
    "onnxruntime": "#56B4E9",
    "openvino": "#D55E00",
}
OTHER = "#CC79A7"
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "svg.hashsalt": "flexibility",  # the same figure gives the same file
    "svg.fonttype": "none",  # text stays text: searchable, and readable aloud
}


def save(figure: plt.Figure, stem: Path) -> None:
    """Write a figure as SVG and PNG, without a date, so that equal figures are equal files."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(stem.with_suffix(".png"), dpi=150)
    plt.close(figure)


def wall_time(cells: pd.DataFrame, title: str, stem: Path) -> str:
    """Wall time of every measured row, forward beside training, log scale, with the published values.

    cells: rows of cells.csv with `label` and `family`, one device. Returns the alternative text.
    """
    phases = list(dict.fromkeys(cells["phase"]))
    rows = cells[["family", "implementation", "environment", "label"]].drop_duplicates()[::-1]
    several = rows["implementation"].duplicated(keep=False)  # one row an environment
    names = rows["label"] + "  (" + rows["family"] + ")"
    names += (", " + rows["environment"]).where(several, "")
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, len(phases), figsize=(10, 1.3 + 0.34 * len(rows)), sharey=True, layout="constrained"
        )
        for axis, phase in zip(axes, phases, strict=True):
            keys = ["implementation", "environment"]
            shown = rows.merge(cells[cells["phase"] == phase], on=keys, suffixes=("", "_cell"))
            for position, cell in enumerate(shown.itertuples()):
                framework = cell.implementation.split("/")[0]
                if cell.status == "ok":
                    colour = COLOURS.get(framework, OTHER)
                    low, high = cell.wall_low_s, cell.wall_high_s
                    axis.plot([low, high], [position] * 2, color=colour, lw=3, alpha=0.5)
                    axis.plot(cell.wall_s, position, "o", color=colour, markersize=7)
                    axis.annotate(
                        f"{cell.wall_s:.3g}",
                        (max(cell.wall_s, high), position),
                        xytext=(7, 0),
                        textcoords="offset points",
                        va="center",
                        fontsize=8,
                    )
                else:
                    axis.annotate(
                        f" {cell.status}",
                        (0, position),
                        xycoords=("axes fraction", "data"),
                        va="center",
                        fontsize=8,
                        style="italic",
                    )
            axis.plot(
                shown["published_wall_s"],
                range(len(shown)),
                "D",
                markerfacecolor="none",
                markeredgecolor="black",
                markersize=5,
                label="published (its own machine)",
            )
            axis.set(xscale="log", xlabel="wall time of one batch (s)", title=phase)
            axis.xaxis.set_minor_locator(ticker.LogLocator(subs=(2, 5)))
            for formatted in (axis.xaxis.set_major_formatter, axis.xaxis.set_minor_formatter):
                formatted(ticker.StrMethodFormatter("{x:g}"))
            axis.margins(x=0.14)
            axis.set_ylim(-0.8, len(rows) - 0.2)
        axes[0].set_yticks(range(len(names)), names)
        for axis in axes:
            axis.tick_params(axis="y", length=0)
        if cells["published_wall_s"].notna().any():
            axes[-1].legend(loc="lower right", fontsize=8)
        figure.suptitle(title, fontweight="bold")
        save(figure, stem)
    measured = cells[cells["status"] == "ok"].sort_values("wall_s")
    if measured.empty:
        return f"{title}: no row was measured."
    fastest, slowest = measured.iloc[0], measured.iloc[-1]
    return (
        f"{title}: wall time a batch of {len(measured)} measured cells, from "
        f"{fastest['wall_s']:.3g} s ({fastest['label']}, {fastest['phase']}) to {slowest['wall_s']:.3g} s "
        f"({slowest['label']}, {slowest['phase']})."
    )


MARKERS = ("o", "s", "^", "v", "D", "P", "X", "*")


def rates(cells: pd.DataFrame, title: str, stem: Path) -> str:
    """GFLOP/s of every implementation by benchmark; arguments and result as `wall_time`."""
    measured = cells[cells["status"] == "ok"]
    names = list(dict.fromkeys(cells["benchmark"]))
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(11, 6), layout="constrained")
        groups = measured.groupby(["implementation", "label"], sort=False)
        for marker, ((implementation, label), rows) in zip(MARKERS * 2, groups, strict=False):
            axis.plot(
                rows["benchmark"].map(names.index),
                rows["gflops"],
                marker=marker,
                color=COLOURS.get(implementation.split("/")[0], OTHER),
                alpha=0.5 if rows["family"].iloc[0] == "ceiling" else 1,
                lw=1.2 if rows["family"].iloc[0] == "ceiling" else 0,
                label=label,
            )
        axis.set_xticks(range(len(names)), names, rotation=90)
        axis.set(yscale="log", ylabel="GFLOP/s of the matrix products", title=title)
        if not measured.empty:
            axis.legend(fontsize=8, ncols=2)
        save(figure, stem)
    if measured.empty:
        return f"{title}: no row was measured."
    best = measured[measured["family"] != "ceiling"].sort_values("gflops").iloc[-1]
    return (
        f"{title}: rates of {measured['implementation'].nunique()} implementations on "
        f"{measured['benchmark'].nunique()} shapes, at most {best['gflops']:.0f} GFLOP/s "
        f"({best['label']}, {best['benchmark']})."
    )
