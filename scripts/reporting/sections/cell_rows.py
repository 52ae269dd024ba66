"""Every cell in every style: time over the LSTM's in the same style, and over the best LSTM row."""

from collections.abc import Iterator, Mapping

import pandas as pd

from reporting import estimates
from reporting.sections import OK, Tables
from reporting.words import CELLS

LIBRARY = (
    "cell kernel",
    "whole kernel",
    "cuDNN",
    "library",
)  # families whose operators are one cell
READY = ("build_s", "first_step_s", "tuning_s", "kernel_schedule_s", "kernel_build_s")
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
    "status",
    "reason",
)


def of_cells(tables: Tables, about: Mapping) -> pd.DataFrame:
    """The rows of the document with their `cell`, in the order of `words.CELLS`, ceilings left out."""
    benchmarks = about["document"]["benchmarks"]
    found = tables.cells[tables.cells["flexibility"].notna()]
    cell = found["benchmark"].map(lambda name: benchmarks[name].get("cell", "lstm"))
    place = cell.map(list(CELLS).index)
    return found.assign(cell=cell, place=place).sort_values("place", kind="stable")


def over(row: Mapping, others: pd.DataFrame, name: str) -> dict[str, float | None]:
    """A row's time over the fastest of others, with its interval."""
    keys = (name, f"{name}_low", f"{name}_high")
    if row["status"] != OK or others.empty:
        return dict.fromkeys(keys)
    to = [[own] for own in others["process_medians_s"]]
    found = estimates.ratio_of_fastest([[row["process_medians_s"]]], to)
    return dict(zip(keys, found, strict=True))


def ready(row: Mapping) -> float | None:
    """Seconds before batches take the time that is reported."""
    if row["status"] != OK:
        return None
    return sum(row[key] for key in READY if pd.notna(row[key]))


def lines(row: Mapping, about: Mapping) -> dict[str, int] | None:
    """Of a row's cell, in its framework; a library's operator takes none."""
    if row["family"] in LIBRARY:
        return None
    own = about["cell_lines"].get(row["implementation"].split("/")[0], {})
    return own.get(row["cell"])


def compared(cells: pd.DataFrame, about: Mapping, base: str) -> Iterator[dict]:
    """A dictionary a row: COLUMNS, `own` and `best` with their intervals, `lines`, `other`, `ready_s`."""
    for _, here in cells.groupby(PLACE, sort=False):
        first = here[(here["cell"] == base) & (here["status"] == OK)]
        styles = {key: own for key, own in first.groupby(STYLE, sort=False)}
        none = first.head(0)
        for row in here.to_dict("records"):
            own = styles.get((row["implementation"], row["environment"]), none)
            own = none if row["cell"] == base else own
            count = lines(row, about) or {}
            yield {
                **{key: row[key] for key in COLUMNS},
                **over(row, own, "own"),
                **over(row, first, "best"),
                "called": CELLS[row["cell"]],
                "lines": count.get("lines"),
                "other": count.get("other"),
                "ready_s": ready(row),
                "row": row,
            }


def written(row: Mapping) -> str | None:
    """`12 (4)`: lines, and those that the base has not."""
    return None if row["lines"] is None else f"{row['lines']} ({row['other']})"


def analyse(
    tables: Tables, about: Mapping, base: str, phase: str, device: str = "cpu"
) -> dict | None:
    """{"rows": [...]}, of each cell the fastest first; a cell that a style does not have stands at the end of its."""
    cells = of_cells(tables, about)
    cells = cells[(cells["phase"] == phase) & (cells["device"] == device)]
    found = list(compared(cells, about, base))
    if not any(row["status"] == OK for row in found):
        return None
    order = list(CELLS)

    def place(row: Mapping) -> tuple:
        seconds = row["wall_median_s"] if row["status"] == OK else float("inf")
        return row["machine"], order.index(row["cell"]), seconds

    found = [row for row in found if row["status"] in (OK, "unsupported", "incorrect", "failed")]
    found.sort(key=place)
    for row in found:
        row["written"] = written(row)
        for key in ("row", "reason"):
            del row[key]
    return {"rows": found, "base": CELLS[base]}
