"""Two factors apart: an implementation's overhead (its time over that of its own framework's matrix products) and what the
framework's library costs (those products over the machine's multiply-add peak)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from plan.matrix import NOW
from reporting.blocks import Block, Table, Text
from reporting.layout import DASH, percent, times
from reporting.relations import PEAK, over
from reporting.sections import Tables
from reporting.style import look
from reporting.words import PHASES
from stats import estimates
from stats.estimates import Ratio

TITLE = "Two factors: overhead and library"
# Whose matrix products an implementation calls, where its name does not say so.
LIBRARIES = {
    "keras/lstm-tensorflow": "tensorflow",
    "keras/lstm-torch": "pytorch",
    "keras/lstm-jax": "jax",
    "keras/lstm-theano": "theano",
}


@dataclass(frozen=True)
class Row:
    name: str
    phase: str
    device: str
    products: str  # the framework whose matrix products it calls
    overhead: Ratio | None
    library: Ratio | None
    share: float | None  # of the multiply-add peak


@dataclass(frozen=True)
class Answer:
    rows: list[Row]


def limits(cells: pd.DataFrame) -> dict[tuple, float]:
    """{(device, phase): seconds at the multiply-add peak}: a limit is what was reached once, by the fastest process."""
    peaks = cells[cells["implementation"] == PEAK].to_dict("records")
    return {(row["device"], row["phase"]): min(row["process_medians_s"]) for row in peaks}


def library(implementation: str) -> str:
    return LIBRARIES.get(implementation, implementation.split("/")[0])


def products(cells: pd.DataFrame) -> dict[tuple, dict]:
    """{(device, phase, framework): its matrix products as its implementations call them}"""
    found = {}
    ceilings = cells[(cells["family"] == "ceiling") & (cells["implementation"] != PEAK)]
    for row in ceilings.to_dict("records"):
        framework, _, style = row["implementation"].partition("/")
        key = (row["device"], row["phase"], framework)
        if key not in found or "large" not in style:
            found[key] = row
    return found


def _over_limit(row: Mapping, seconds: float) -> Ratio:
    ends = [end / seconds for end in estimates.product([row["process_medians_s"]], [1])]
    return Ratio(*ends, estimates.compared(*ends[1:]))


def analyse(tables: Tables, about: Mapping, benchmark: str) -> Answer | None:
    cells = tables.measured(benchmark=benchmark, generation=NOW)
    own, peak = products(cells), limits(cells)
    found = []
    for row in cells[cells["flexibility"].notna()].sort_values("wall_median_s").to_dict("records"):
        place, framework = (row["device"], row["phase"]), library(row["implementation"])
        ceiling, limit = own.get((*place, framework)), peak.get(place)
        overhead = over(row, ceiling) if ceiling else None
        of_library = _over_limit(ceiling, limit) if ceiling and limit else None
        share = limit / row["wall_median_s"] if limit else None
        called = row["name"], row["phase"], row["device"], framework
        found.append(Row(*called, overhead, of_library, share))
    if not any(row.overhead or row.share for row in found):
        return None
    return Answer(sorted(found, key=lambda row: row.phase != "training"))


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        "*Overhead*: time relative to the framework's own matrix products; below 1, its kernels are faster than those products. "
        "*Library*: time of those products relative to the machine's multiply-add peak. Both multiplied give the time relative to "
        f"the peak. {DASH}: the framework's products were not measured."
    )
    libraries: dict[tuple, dict[str, Ratio]] = {}
    rows: dict[tuple, dict[str, Row]] = {}
    for row in answer.rows:
        rows.setdefault((row.name, row.device), {})[row.phase] = row
        if row.library:
            libraries.setdefault((row.products, row.device), {})[row.phase] = row.library
    phases = [each for each in PHASES if any(each in own for own in rows.values())]
    several = len({device for _, device in rows}) > 1

    def named(key: tuple[str, str]) -> str:
        return key[0] + (f", {key[1].upper()}" if several else "")

    table = [
        [named((look(framework).name, device)), *(times(own.get(phase)) for phase in phases)]
        for (framework, device), own in libraries.items()
    ]
    yield Table(["Library", *(PHASES[phase] for phase in phases)], table)
    heads = ["Implementation"]
    for phase in phases:
        heads += [f"{head}, {PHASES[phase].lower()}" for head in ("Overhead", "Of the peak")]
    table = []
    for key, own in rows.items():
        cells = [named(key)]
        for phase in phases:
            one = own.get(phase)
            cells += [times(one.overhead), percent(one.share)] if one else [DASH] * 2
        table.append(cells)
    yield Table(heads, table)
