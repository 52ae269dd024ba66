"""Every cell in every implementation: its time over that of the fastest LSTM of the same shape."""

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from reporting import relations
from reporting.blocks import Block, Heading, Table, Text
from reporting.layout import times
from reporting.sections import Tables
from reporting.words import CELLS, PHASES
from stats.estimates import Ratio

PLACE = ["device", "phase"]


@dataclass(frozen=True)
class Style:
    """An implementation, and its ratio for each cell."""

    label: str
    level: str
    cells: dict[str, Ratio]


@dataclass(frozen=True)
class Place:
    device: str
    phase: str
    styles: list[Style]  # the fastest first


@dataclass(frozen=True)
class Answer:
    asked: str
    base: str
    cells: list[str]  # in the order of the columns
    places: list[Place]


def over(row: Mapping, others: pd.DataFrame) -> Ratio | None:
    """A row's time over that of the fastest of others, if there are any."""
    if others.empty:
        return None
    fastest = others.loc[others["wall_median_s"].idxmin()]
    if fastest["records"] == row["records"]:
        return Ratio(1.0, math.nan, math.nan, "same")
    return relations.over(row, fastest)


def analyse(tables: Tables, about: Mapping, base: str, asked: str) -> Answer | None:
    benchmarks = about["document"]["benchmarks"]
    found = tables.measured(generation="now")
    found = found[found["flexibility"].notna()]
    cells = [benchmarks[name].get("cell", "lstm") for name in found["benchmark"]]
    found = found.assign(cell=cells)
    places = []
    for (device, phase), here in found.groupby(PLACE, sort=False):
        first = here[here["cell"] == base]
        if first.empty:
            continue
        styles = [
            Style(
                str(label),
                own["flexibility"].iloc[0],
                {row["cell"]: over(row, first) for row in own.to_dict("records")},
            )
            for label, own in here.groupby("label", sort=False)
        ]
        styles.sort(key=lambda own: statistics.geometric_mean(c.ratio for c in own.cells.values()))
        places.append(Place(str(device), str(phase), styles))
    if not any(asked in style.cells for place in places for style in place.styles):
        return None
    places.sort(key=lambda each: (each.device, [*PHASES].index(each.phase)))
    order = dict.fromkeys([base, asked, *CELLS])  # the first two in sight on any screen
    return Answer(asked, base, [cell for cell in order if cell in set(found["cell"])], places)


def _where(place: Place) -> str:
    return f"{PHASES[place.phase].lower()}{' on the GPU' * (place.device == 'gpu')}"


def write(answer: Answer) -> Iterator[Block]:
    said = []
    for place in answer.places:
        own = [style for style in place.styles if answer.asked in style.cells]
        if own:
            best = min(own, key=lambda style: style.cells[answer.asked].ratio)
            said.append(f"{times(best.cells[answer.asked])} in {_where(place)} ({best.label})")
    asked, base = CELLS[answer.asked], CELLS[answer.base]
    yield Text(
        f"Time of the fastest {asked} relative to the fastest {base} of the same shape: {', '.join(said)}. To benchmark your own "
        "cell: `make cell CELL=my_cell.py`."
    )
    yield Text(
        f"The tables show times relative to the fastest {base} with 95 % intervals. Those of [findings](findings.md) also allow for "
        "the choice of the fastest, and are wider. Empty: not measured, or the library does not have that cell."
    )
    for place in answer.places:
        yield Heading(f"{PHASES[place.phase]}, {place.device.upper()}", 2)
        rows = [
            [
                *(style.label, style.level),
                *(times(style.cells[cell]) if cell in style.cells else "" for cell in answer.cells),
            ]
            for style in place.styles
        ]
        yield Table(["Implementation", "Level", *(CELLS[cell] for cell in answer.cells)], rows)
