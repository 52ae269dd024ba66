"""A cell that no library has: how fast it can be, and what that takes."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from reporting.sections import OK, Tables
from reporting.sections.answer import FLEXIBLE
from reporting.sections.cell_rows import LIBRARY, PLACE, compared, of_cells
from reporting.style import EDGE, STYLE, framework_legend, hover, logarithmic, look, three_digits
from reporting.words import CELLS

NOW, COMPILED = "now", "compiled"


def _fastest(of: pd.DataFrame, to: pd.DataFrame, rows: Sequence[Mapping]) -> dict | None:
    """The row that came out fastest over the fastest of others, with what `compared` says of it."""
    if of.empty or to.empty:
        return None
    best = of.loc[of["wall_median_s"].idxmin()]
    (own,) = (row for row in rows if row["row"]["records"] == best["records"])
    kept = ("label", "wall_median_s", "own", "own_low", "own_high", "lines", "other", "ready_s")
    over = {"over": own["best"], "low": own["best_low"], "high": own["best_high"]}
    base = to.loc[to["wall_median_s"].idxmin(), "label"]
    return over | {"base": base, **{key: own[key] for key in kept}}


def analyse(
    tables: Tables, about: Mapping, base: str, asked: str, drawn: bool = True
) -> dict | None:
    """{"asked", "base", "library": names of library rows that have the cell, "has": {cell: such rows}, "places":
    [{"machine", "device", "phase", "best": the fastest row of the cell, "operators": its fastest of single operators}]}"""
    cells = of_cells(tables, about)
    cells = cells[cells["generation"] == NOW]
    places = []
    for place, here in cells.groupby(PLACE, sort=False):
        first, own = here[here["cell"] == base], here[here["cell"] == asked]
        rows = list(compared(here, about, base))
        best = _fastest(own, first, rows)
        if best:
            single = own[own["flexibility"].isin(FLEXIBLE)]
            compiled = own[own["flexibility"] == COMPILED]
            found = {
                "best": best,
                "operators": _fastest(single, first, rows),
                "compiled": _fastest(compiled, first, rows),
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
    keys = ("machine", "device", "phase", "cell", "label", "best", "wall_median_s")
    return [
        {key: row[key] for key in keys} | {"implementation": row["row"]["implementation"]}
        for row in compared(cells, about, base)
        if row["best"]
    ]


def draw(
    data: Mapping, tables: Tables, about: Mapping, base: str, asked: str, drawn: bool = True
) -> tuple[plt.Figure, str] | None:
    """Time over the best LSTM row's, a line a cell, a point a style, a panel a machine, device and phase."""
    if not drawn:
        return None
    points = pd.DataFrame(data["drawn"])
    groups = list(points.groupby(PLACE, sort=False))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(groups), 1, figsize=(8, 0.9 + 2.3 * len(groups)), squeeze=False, sharex=True
        )
        several = points["machine"].nunique() > 1
        for axis, (place, own) in zip(axes.flat, groups, strict=True):
            machine, device, phase = place
            _panel(axis, own)
            where = f"{about['machine_names'][machine]}, " if several else ""
            axis.set_title(f"{where}{device.upper()}, {phase}", loc="left")
        axes.flat[-1].set_xlabel(f"time of a batch over the best {CELLS[base]} row's")
        framework_legend(figure, points.assign(status=OK))
    ends = [
        f"{phase}, {CELLS[cell]}: {own['best'].min():.2f} to {own['best'].max():.2f}"
        for (_, _, phase, cell), own in points.groupby([*PLACE, "cell"], sort=False)
    ]
    return (
        figure,
        "Time over the best LSTM row's by cell, from the fastest style to the slowest. "
        + ("; ".join(ends) + "."),
    )


def _panel(axis: Axes, points: pd.DataFrame) -> None:
    order = [cell for cell in CELLS if (points["cell"] == cell).any()]
    for height, cell in enumerate(reversed(order)):
        own = points[points["cell"] == cell]
        axis.plot([own["best"].min(), own["best"].max()], [height] * 2, color="#999999", lw=1)
        for row in own.to_dict("records"):
            drawn = look(row["implementation"])
            (point,) = axis.plot(
                row["best"], height, color=drawn.color, marker=drawn.marker, ls="", **EDGE
            )
            hover(point, f"{CELLS[cell]}, {row['label']}: {three_digits(row['best'])} times")
    axis.axvline(1.0, color="#444444", lw=0.8, ls=":")
    axis.set_yticks(range(len(order)), [CELLS[cell] for cell in reversed(order)])
    axis.set_ylim(-0.6, len(order) - 0.4)
    logarithmic(axis)
