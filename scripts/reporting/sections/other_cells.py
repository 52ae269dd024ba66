"""A recurrent cell other than the LSTM: how fast it can be, at each level of flexibility."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from plan.matrix import NOW
from reporting.blocks import Block, Table, Text
from reporting.layout import brief, interval, seconds, time
from reporting.sections import Tables
from reporting.sections.cell_rows import PLACE, compared, of_cells
from reporting.style import (
    STYLE,
    hover,
    logarithmic,
    look,
    marked,
    numbered,
    span,
    three_digits,
    width,
)
from reporting.words import CELLS, LEVELS


@dataclass(frozen=True)
class Over:
    """An implementation of the cell over the fastest LSTM."""

    label: str
    seconds: float
    within: str
    ratio: float
    low: float | None
    high: float | None
    ready_s: float


@dataclass(frozen=True)
class Place:
    """The cell on a device in a phase: the fastest of all, and of a level the fastest and the slowest."""

    device: str
    phase: str
    base: str
    best: Over
    levels: dict[str, tuple[Over, Over]]


@dataclass(frozen=True)
class Answer:
    asked: str
    base: str
    places: list[Place]
    lines: dict[
        str, tuple[int, int]
    ]  # {framework: lines of the cell, and those that the LSTM does not have}
    drawn: list[dict]


def _over(found: Mapping) -> Over:
    return Over(
        found["label"],
        found["wall_median_s"],
        found["within"],
        *(found[f"best{end}"] for end in ("", "_low", "_high")),
        found["ready_s"],
    )


def analyse(
    tables: Tables, about: Mapping, base: str, asked: str, drawn: bool = True
) -> Answer | None:
    cells = of_cells(tables, about)
    cells = cells[cells["generation"] == NOW]
    places, lines = [], {}
    for (_, device, phase), here in cells.groupby(PLACE, sort=False):
        rows = [
            each for each in compared(here, about, base) if each["cell"] == asked and each["best"]
        ]
        if not rows:
            continue
        rows.sort(key=lambda each: each["wall_median_s"])
        first = here[here["cell"] == base]
        levels: dict[str, tuple[Over, Over]] = {}
        for level in LEVELS:
            own = [_over(each) for each in rows if each["row"]["flexibility"] == level]
            if own:
                levels[level] = own[0], own[-1]
        fastest = first.loc[first["wall_median_s"].idxmin(), "label"]
        places.append(Place(device, phase, fastest, _over(rows[0]), levels))
        for each in rows:
            if each["lines"]:
                framework = look(each["row"]["implementation"]).name
                lines[framework] = each["lines"], each["other"]
    if not places:
        return None
    places.sort(key=lambda each: (each.device, each.phase != "training"))
    return Answer(CELLS[asked], CELLS[base], places, lines, _drawn(cells, about, base))


def write(answer: Answer) -> Iterator[Block]:
    def where(place: Place) -> str:
        phase = "training" if place.phase == "training" else "inference"
        return phase + (" on the GPU" if place.device == "gpu" else "")

    said = ", ".join(
        f"{brief(p.best.ratio, p.best.low, p.best.high)} times in {where(p)} ({p.best.label})"
        for p in answer.places
    )
    yield Text(
        f"The fastest {answer.asked} takes {said} as long as the fastest {answer.base} of the same shape. To benchmark your own "
        "cell: `make cell CELL=my_cell.py`."
    )
    rows = []
    for place in answer.places:
        for level, (fast, slow) in place.levels.items():
            row = [
                where(place).capitalize(),
                level,
                fast.label,
                time(fast.seconds) + f" {fast.within}",
            ]
            row += [brief(fast.ratio, fast.low, fast.high)]
            row += [brief(slow.ratio, slow.low, slow.high) if slow != fast else ""]
            rows.append([*row, f"{seconds(fast.ready_s)} s"])
    heads = ["Phase", "Level", "Fastest implementation", "Batch", f"Over the fastest {answer.base}"]
    yield Table([*heads, "Slowest of the level", "Time to first result"], rows)
    if answer.lines:
        told = [f"{name} {count} ({new})" for name, (count, new) in answer.lines.items()]
        yield Text(
            f"Lines of code of the {answer.asked}, and in brackets those that the {answer.base} does not have: {', '.join(told)}."
        )


def _drawn(cells: pd.DataFrame, about: Mapping, base: str) -> list[dict]:
    keys = ("machine", "device", "phase", "cell", "label", "best", "best_low", "best_high")
    keys += ("wall_median_s",)
    return [
        {key: row[key] for key in keys} | {"implementation": row["row"]["implementation"]}
        for row in compared(cells, about, base)
        if row["best"]
    ]


def draw(
    answer: Answer,
    tables: Tables,
    about: Mapping,
    wide: bool,
    base: str,
    asked: str,
    drawn: bool = True,
) -> tuple[plt.Figure, str] | None:
    """Time over the best LSTM row's, a group of lines a cell, a line and mark a style, a panel a machine, device and
    phase."""
    if not drawn:
        return None
    points = pd.DataFrame(answer.drawn)
    groups = list(points.groupby(PLACE, sort=False))
    looks = marked(points["implementation"])
    labels = dict(zip(points["implementation"], points["label"], strict=True))
    heights = [0.6 + 0.115 * len(own) + 0.12 * own["cell"].nunique() for _, own in groups]
    below = len(looks) / (3 if wide else 1)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(groups),
            1,
            figsize=(width(wide, 8.5), 0.6 + sum(heights) + 0.19 * below),
            squeeze=False,
            sharex=True,
            height_ratios=heights,
        )
        several, told = points["machine"].nunique() > 1, []
        for axis, (place, own) in zip(axes.flat, groups, strict=True):
            machine, device, phase = place
            _panel(axis, own, looks)
            where = f"{about['machine_names'][machine]}, " if several else ""
            title = f"{where}{device.upper()}, {phase}"
            axis.set_title(title, loc="left")
            told.append(f"{title}: {_ends(own)}.")
            numbered(axis, f"time of a batch over the best {CELLS[base]} row's (times)")
        handles = [
            Line2D([], [], ls="", label=labels[name], **each) for name, each in looks.items()
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=3 if wide else 1)
    said = "Time over the best LSTM row's by cell, from the fastest style to the slowest."
    return figure, " ".join([said, *told])


def _ends(points: pd.DataFrame) -> str:
    """A panel's numbers, in words."""
    cells = points.groupby("cell", sort=False)["best"].agg(["min", "max"])
    return ", ".join(
        f"{CELLS[own.Index]} {own.min:.2f} to {own.max:.2f}" for own in cells.itertuples()
    )


def _panel(axis: Axes, points: pd.DataFrame, looks: Mapping[str, Mapping]) -> None:
    height, ticks = 0.0, {}
    for cell in reversed([cell for cell in CELLS if (points["cell"] == cell).any()]):
        own = points[points["cell"] == cell].sort_values("best", ascending=False)
        ticks[height + (len(own) - 1) / 2] = CELLS[cell]
        for row in own.to_dict("records"):
            each = looks[row["implementation"]]
            if row["best_low"] is not None and row["best_low"] == row["best_low"]:
                span(axis, row["best_low"], row["best_high"], height, each["color"])
            (point,) = axis.plot(row["best"], height, ls="", ms=6, **each)
            ends = interval(row["best_low"], row["best_high"])
            said = f"{CELLS[cell]}, {row['label']}: {three_digits(row['best'])} times {ends}"
            hover(point, said.strip())
            height += 1
        axis.axhline(height, color="#bbbbbb", lw=0.6)
        height += 1
    axis.axvline(1.0, color="#444444", lw=0.8, ls=":")
    axis.set_yticks(list(ticks), list(ticks.values()))
    axis.set_ylim(-0.8, height - 1)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="y", visible=False)
    logarithmic(axis)
