"""Validation perplexity while implementations train, and by how much they differ."""

import itertools
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib import ticker

from .style import NOTE, OTHER, STYLE, look, save

COLUMNS = (
    "machine",
    "implementation",
    "label",
    "environment",
    "device",
    "benchmark",
    "status",
    "curve",
)
DASHES = ("-", "--", ":", "-.")  # of a framework's rows, in turn


def perplexity(rows: pd.DataFrame, title: str, stem: Path) -> str:
    """Validation perplexity by batches trained, a line a row, and below each row's difference from the median of all.
    A column a machine; rows that have no curve are named."""
    machines = list(rows.groupby("machine", sort=False)) or [("", rows)]
    trained = rows[rows["status"] == "ok"]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            2,
            len(machines),
            figsize=(9.5, 5.5),
            sharex="col",
            sharey="row",
            squeeze=False,
            height_ratios=(3, 2),
        )
        for (upper, lower), (machine, own) in zip(axes.T, machines, strict=True):
            _machine(upper, lower, own)
            if len(machines) > 1:
                upper.set_title(machine, loc="left")
            lower.set_xlabel("batches trained")
        axes[0, 0].set_ylabel("validation perplexity")
        axes[1, 0].set_ylabel("from the median (%)")
        figure.suptitle(title)
        if not trained.empty:
            handles = {
                label: handle
                for axis in axes[0]
                for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
            }
            figure.legend(handles.values(), handles, loc="outside lower center", ncols=3)
        save(figure, stem)
    if trained.empty:
        return f"{title}: no row was trained."
    ends = trained["curve"].map(lambda curve: curve[-1]["valid_perplexity"])
    batches = trained["curve"].map(lambda curve: curve[-1]["batch"]).max()
    return (
        f"{title}: validation perplexity of {len(trained)} implementations trained from the same weights; after "
        f"{batches} batches it is {ends.min():.1f} to {ends.max():.1f}."
    )


def _machine(upper: plt.Axes, lower: plt.Axes, rows: pd.DataFrame) -> None:
    """The two panels of one machine."""
    curves = {}
    for row in rows[rows["status"] == "ok"].itertuples():
        points = {point["batch"]: point["valid_perplexity"] for point in row.curve}
        curves[row.implementation, f"{row.label}, {row.environment}"] = pd.Series(points)
    median = pd.DataFrame(curves).median(axis=1)
    dashes = {}
    for (implementation, name), curve in curves.items():
        each = look(implementation)
        dash = next(dashes.setdefault(each, itertools.cycle(DASHES)))
        drawn = {"color": each.color, "ls": dash, "marker": each.marker, "ms": 4, "lw": 1.2}
        upper.plot(curve.index, curve, label=name, **drawn)
        lower.plot(curve.index, 100 * (curve / median[curve.index] - 1), **drawn)
    upper.set_yscale("log")
    upper.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    upper.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    upper.yaxis.set_minor_formatter(ticker.NullFormatter())
    lower.axhline(0, color=OTHER.color, lw=0.5)
    left_out = rows[rows["status"] != "ok"]
    if not left_out.empty:
        counts = ", ".join(
            f"{number} {status}" for status, number in left_out["status"].value_counts().items()
        )
        upper.set_title(
            f"without a curve: {counts}", loc="right", **(NOTE | {"fontweight": "normal"})
        )
