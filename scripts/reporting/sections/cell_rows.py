"""Every cell in every style: time over the LSTM's in the same style, and over the best LSTM row."""

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from reporting import tradeoff
from reporting.blocks import Block, Table, Text
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


@dataclass(frozen=True)
class Style:
    """Of each cell the ratio to the fastest LSTM."""

    label: str
    ratios: dict[str, float]


@dataclass(frozen=True)
class Answer:
    styles: list[Style]  # the fastest first
    base: str
    cells: dict[str, str]  # {cell: its name}


def analyse(
    tables: Tables, about: Mapping, base: str, phase: str, device: str = "cpu"
) -> Answer | None:
    cells = of_cells(tables, about)
    cells = cells[(cells["phase"] == phase) & (cells["device"] == device)]
    ratios: dict[str, dict[str, float]] = {}
    for row in compared(cells, about, base):
        if row["best"]:
            ratios.setdefault(row["label"], {})[row["cell"]] = row["best"]
    if not ratios:
        return None
    found = [Style(label, own) for label, own in ratios.items()]
    found.sort(key=lambda each: statistics.geometric_mean(each.ratios.values()))
    shown = {cell: CELLS[cell] for cell in CELLS if any(cell in each.ratios for each in found)}
    return Answer(found, CELLS[base], shown)


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        f"Time over that of the fastest {answer.base}. Empty: not measured, or a library without that cell."
    )
    rows = [
        [
            each.label,
            *(f"{each.ratios[cell]:.2f}" if cell in each.ratios else "" for cell in answer.cells),
        ]
        for each in answer.styles
    ]
    yield Table(["Implementation", *answer.cells.values()], rows)
