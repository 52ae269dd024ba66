"""Time of a batch, a bar an implementation: the charts of document 003."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from plan.matrix import NOW
from reporting.blocks import Block
from reporting.layout import none, three_digits
from reporting.sections import Tables, on_one_device
from reporting.style import STYLE, framework_legend, hover, look


@dataclass(frozen=True)
class Answer:
    benchmark: str


def analyse(tables: Tables, about: Mapping, benchmark: str) -> Answer | None:
    cells = on_one_device(tables.measured(benchmark=benchmark))
    return None if cells.empty else Answer(benchmark)


def write(answer: Answer) -> Iterator[Block]:
    yield from ()  # the figure says it


def draw(answer: Answer, tables: Tables, about: Mapping, benchmark: str) -> tuple[plt.Figure, str]:
    """Hatched with old versions."""
    cells = on_one_device(tables.measured(benchmark=benchmark))
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6.5, 1.6 + 0.3 * len(cells)))
        _bars(axis, cells)
        axis.set_xlabel("mean time of one batch (s) ± standard deviation over batches")
        axis.set_xlim(left=0)
        framework_legend(figure, cells)
    ordered = cells.sort_values("wall_s")
    slowest, fastest = (
        f"{row.wall_s:.3g} s ({row.label}, {row.environment})"
        for row in ordered.iloc[[-1, 0]].itertuples()
    )
    return figure, (
        f"Mean time of a batch of {benchmark}: {len(cells)} implementations and versions, from {fastest} to {slowest}."
    )


def _bars(axis: Axes, cells: pd.DataFrame) -> None:
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
    axis.set_yticks(range(len(rows)), names)
    axis.set_ylim(-0.8, len(rows) - 0.2)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="y", visible=False)
