"""Implementations that the document does not have, fastest first, over the fastest that it has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from plan.matrix import NOW
from reporting import relations
from reporting.blocks import Block, Table, Text
from reporting.layout import DASH, time, times
from reporting.sections import Tables, on, on_one_device
from reporting.words import PHASES
from stats.estimates import Ratio

TITLE = "What we add"


@dataclass(frozen=True)
class Over:
    """A time, and its ratio to the fastest of the document's."""

    seconds: float
    ratio: Ratio


@dataclass(frozen=True)
class Row:
    name: str
    level: str
    phases: dict[str, Over]


@dataclass(frozen=True)
class Answer:
    rows: list[Row]
    best: dict[str, str]  # {phase: the fastest of the document's}
    device: str


def analyse(
    tables: Tables, about: Mapping, benchmarks: Sequence[str], published: Sequence[str] = ()
) -> Answer | None:
    """`published`: the families that the document measured, unless its numbers tell."""
    cells = on(tables.measured(generation=NOW), benchmarks)
    cells = on_one_device(cells[cells["flexibility"].notna()])
    theirs = cells["published_wall_s"].notna() | cells["family"].isin(published)
    best: dict[str, pd.Series] = {}
    for phase, own in cells[theirs].groupby("phase"):
        best[str(phase)] = own.loc[own["wall_median_s"].idxmin()]
    rows = []
    for name, own in cells[~theirs].groupby("name", sort=False):
        phases = {
            row["phase"]: Over(row["wall_median_s"], relations.over(row, best[row["phase"]]))
            for row in own.to_dict("records")
            if row["phase"] in best
        }
        if phases:
            rows.append(Row(str(name), own["flexibility"].iloc[0], phases))
    order = [phase for phase in PHASES if phase in best]
    rows.sort(key=lambda row: [row.phases[p].seconds if p in row.phases else 1e9 for p in order])
    names = {phase: row["name"] for phase, row in best.items()}
    return Answer(rows, names, cells["device"].iloc[0]) if rows else None


def write(answer: Answer) -> Iterator[Block]:
    phases = [phase for phase in PHASES if phase in answer.best]
    best = "; ".join(f"{PHASES[p].lower()}: {answer.best[p]}" for p in phases)
    yield Text(
        f"Not in the document, {answer.device.upper()}, today's versions. Ratios are to the fastest implementation that the "
        f"document has ({best}); below 1 is faster."
    )
    heads = ["Implementation", "Level"]
    for phase in phases:
        heads += [PHASES[phase], "Ratio" + " " * (phase != phases[0])]
    rows = []
    for row in answer.rows:
        cells = [row.name, row.level]
        for phase in phases:
            over = row.phases.get(phase)
            cells += [time(over.seconds), times(over.ratio)] if over else [DASH, DASH]
        rows.append(cells)
    yield Table(heads, rows)
