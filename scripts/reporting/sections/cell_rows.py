"""Every cell in every style: time over the LSTM's in the same style, and over the best LSTM row."""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping

import pandas as pd

from reporting import tradeoff
from reporting.layout import within
from reporting.sections import Tables
from reporting.words import CELLS
from stats import estimates

LIBRARY = (
    "cell kernel",
    "fused kernel",
    "cuDNN",
    "library",
)  # families whose operators are one cell
PLACE = ["machine", "device", "phase"]
STYLE = ["implementation", "environment"]
COLUMNS = (
    "machine",
    "device",
    "phase",
    "cell",
    "label",
    "family",
    "wall_median_s",
)


def of_cells(tables: Tables, about: Mapping) -> pd.DataFrame:
    """The measured rows of the document with their `cell`, in the order of `words.CELLS`, ceilings left out."""
    benchmarks = about["document"]["benchmarks"]
    found = tables.measured()
    found = found[found["flexibility"].notna()]
    cell = found["benchmark"].map(lambda name: benchmarks[name].get("cell", "lstm"))
    place = cell.map(list(CELLS).index)
    return found.assign(cell=cell, place=place).sort_values("place", kind="stable")


def over(row: Mapping, others: pd.DataFrame, name: str) -> dict[str, float | None]:
    """A row's time over that of the row that came out fastest of others, with the interval of these two."""
    none = dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    if others.empty:
        return none
    fastest = others.loc[others["wall_median_s"].idxmin()]
    if fastest["records"] == row["records"]:
        return none | {name: 1.0}
    return estimates.over(row, fastest, name)


def lines(row: Mapping, about: Mapping) -> dict[str, int] | None:
    """Of a row's cell, in its framework; a library's operator takes none."""
    if row["family"] in LIBRARY:
        return None
    own = about["cell_lines"].get(row["implementation"].split("/")[0], {})
    return own.get(row["cell"])


def compared(cells: pd.DataFrame, about: Mapping, base: str) -> Iterator[dict]:
    """A dictionary a row: COLUMNS, `own` and `best` with their intervals, `lines`, `other`, `ready_s`."""
    for _, here in cells.groupby(PLACE, sort=False):
        first = here[here["cell"] == base]
        styles = {key: own for key, own in first.groupby(STYLE, sort=False)}
        none = first.head(0)
        for row in here.to_dict("records"):
            own = styles.get((row["implementation"], row["environment"]), none)
            own = none if row["cell"] == base else own
            count = lines(row, about) or {}
            yield {
                **{key: row[key] for key in COLUMNS},
                "mark": row.get("mark"),
                **over(row, own, "own"),
                **over(row, first, "best"),
                "called": CELLS[row["cell"]],
                "lines": count.get("lines"),
                "other": count.get("other"),
                "ready_s": tradeoff.start(row),
                "once_s": tradeoff.once(row),
                "ready_within": within(tradeoff.start(row), *tradeoff.start_interval(row).values()),
                "within": within(*estimates.product([row["process_medians_s"]], [1])),
                "row": row,
            }


def written(row: Mapping) -> str | None:
    """`12 (4)`: lines, and those that the base has not."""
    return None if row["lines"] is None else f"{row['lines']} ({row['other']})"


def analyse(
    tables: Tables, about: Mapping, base: str, phase: str, device: str = "cpu"
) -> dict | None:
    """{"rows": [...], of each cell the fastest first, "styles": a row each, "others": those that have
    another cell, "cells": {name: what it is called}}."""
    cells = of_cells(tables, about)
    cells = cells[(cells["phase"] == phase) & (cells["device"] == device)]
    found = list(compared(cells, about, base))
    if not found:
        return None
    order = list(CELLS)
    found.sort(key=lambda row: (row["machine"], order.index(row["cell"]), row["wall_median_s"]))
    for row in found:
        row["written"] = written(row)
        del row["row"]
    shown = [cell for cell in order if any(row["cell"] == cell for row in found)]
    own = styles(found)
    others = [row for row in own if any(row.get(f"own-{cell}") for cell in shown)]
    return {
        "rows": found,
        "styles": own,
        "others": others,
        "base": CELLS[base],
        "cells": {cell: CELLS[cell] for cell in shown},
    }


def styles(rows: Iterable[Mapping]) -> list[dict]:
    """A row a style, the fastest first: {"machine", "label", and of each cell `best-<cell>` and `own-<cell>`, with `_low`,
    `_high` and `_mark`}."""
    found: dict[tuple, dict] = {}
    for row in rows:
        own = found.setdefault(
            (row["machine"], row["label"]), {"machine": row["machine"], "label": row["label"]}
        )
        for over in ("best", "own"):
            for end in ("", "_low", "_high", "_mark"):
                own[f"{over}-{row['cell']}{end}"] = row.get(f"{over}{end}")

    def middle(row: Mapping) -> float:
        values = [row.get(f"best-{cell}") for cell in CELLS]
        # Of nothing where no row of the base was measured there.
        return statistics.geometric_mean([value for value in values if value] or [math.inf])

    return sorted(found.values(), key=lambda row: (row["machine"], middle(row)))
