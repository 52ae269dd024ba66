"""A cell that no library has: how fast it can be, and what that takes."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from plan.matrix import NOW
from reporting.flexibility import OPERATORS as FLEXIBLE
from reporting.layout import interval
from reporting.sections import Tables
from reporting.sections.cell_rows import LIBRARY, PLACE, compared, of_cells
from reporting.style import STYLE, hover, logarithmic, marked, numbered, span, three_digits, width
from reporting.words import CELLS

COMPILED = "compiled"


SHOWN = ("label", "wall_median_s", "within", "mark", "own", "own_low", "own_high", "lines", "other")
SHOWN += ("ready_s", "ready_within", "once_s")


def _said(row: pd.Series, to: pd.DataFrame, rows: Sequence[Mapping]) -> dict:
    """A row over the fastest of others, with what `compared` says of it."""
    (own,) = (each for each in rows if each["row"]["records"] == row["records"])
    over = {"over": own["best"], "low": own["best_low"], "high": own["best_high"]}
    over |= {"over_mark": own.get("best_mark", ""), "own_mark": own.get("own_mark", "")}
    base = to.loc[to["wall_median_s"].idxmin(), "label"]
    return over | {"base": base, **{key: own[key] for key in SHOWN}}


def _rows(of: pd.DataFrame, to: pd.DataFrame, rows: Sequence[Mapping]) -> dict | None:
    """{"count", "fastest", "typical": the middle one, of two the slower, "worst"} of rows, over the fastest of others."""
    if of.empty or to.empty:
        return None
    ordered = of.sort_values("wall_median_s")
    places = {"fastest": 0, "typical": len(of) // 2, "worst": -1}
    return {"count": len(of)} | {
        name: _said(ordered.iloc[place], to, rows) for name, place in places.items()
    }


def analyse(
    tables: Tables, about: Mapping, base: str, asked: str, drawn: bool = True
) -> dict | None:
    """{"asked", "base", "library": names of library rows that have the cell, "has": {cell: such rows}, "places":
    [{"machine", "device", "phase", "best": the fastest row of the cell, "operators" and "compiled": _rows of those}]}"""
    cells = of_cells(tables, about)
    cells = cells[cells["generation"] == NOW]
    places = []
    for place, here in cells.groupby(PLACE, sort=False):
        first, own = here[here["cell"] == base], here[here["cell"] == asked]
        rows = list(compared(here, about, base))
        if best := _rows(own, first, rows):
            single = own[own["flexibility"].isin(FLEXIBLE)]
            compiled = own[own["flexibility"] == COMPILED]
            found = {
                "best": best["fastest"],
                "operators": _rows(single, first, rows),
                "compiled": _rows(compiled, first, rows),
            }
            places.append(dict(zip(PLACE, place, strict=True)) | found)
    if not places:
        return None
    order = {"training": 0, "forward": 1}
    places.sort(key=lambda each: (each["machine"], each["device"], order[each["phase"]]))
    library = cells[cells["family"].isin(LIBRARY)]
    has = {
        CELLS[cell]: list(dict.fromkeys(library[library["cell"] == cell]["label"]))
        for cell in CELLS
        if (cells["cell"] == cell).any()
    }
    found = {"asked": CELLS[asked], "base": CELLS[base], "has": has, "places": places}
    return found | {"document": about["name"], "drawn": _drawn(cells, about, base)}


def _drawn(cells: pd.DataFrame, about: Mapping, base: str) -> list[dict]:
    keys = ("machine", "device", "phase", "cell", "label", "best", "best_low", "best_high")
    keys += ("wall_median_s",)
    return [
        {key: row[key] for key in keys} | {"implementation": row["row"]["implementation"]}
        for row in compared(cells, about, base)
        if row["best"]
    ]


def draw(
    data: Mapping,
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
    points = pd.DataFrame(data["drawn"])
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
