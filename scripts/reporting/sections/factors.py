"""Two factors apart: what flexibility costs (an implementation over its own framework's matrix products) and what the framework's
library costs (those products over the machine's multiply-add peak)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from plan.matrix import NOW
from reporting.blocks import Block, Table, Text
from reporting.layout import DASH, brief, percent, time
from reporting.relations import PEAK
from reporting.sections import Tables
from stats import estimates

TITLE = "Two factors: flexibility and the library"
# Whose matrix products an implementation calls, where its name does not say so.
LIBRARIES = {
    "keras/lstm-tensorflow": "tensorflow",
    "keras/lstm-torch": "pytorch",
    "keras/lstm-jax": "jax",
    "keras/lstm-theano": "theano",
}


@dataclass(frozen=True)
class Ratio:
    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Row:
    name: str
    phase: str
    device: str
    seconds: float
    flexibility: Ratio | None
    library: Ratio | None
    share: float | None  # of the multiply-add peak


@dataclass(frozen=True)
class Broken:
    """A ceiling that an implementation is faster than, beyond the interval of both."""

    ceiling: str
    phase: str
    seconds: float
    faster: str
    ratio: Ratio


@dataclass(frozen=True)
class Answer:
    rows: list[Row]
    broken: list[Broken]


def limits(cells: pd.DataFrame) -> dict[tuple, float]:
    """{(device, phase): seconds at the multiply-add peak}: a limit is what was reached once, by the fastest process."""
    peaks = cells[cells["implementation"] == PEAK].to_dict("records")
    return {(row["device"], row["phase"]): min(row["process_medians_s"]) for row in peaks}


def library(implementation: str) -> str:
    return LIBRARIES.get(implementation, implementation.split("/")[0])


def products(cells: pd.DataFrame) -> dict[tuple, dict]:
    """{(device, phase, framework, generation): its matrix products as its implementations call them}"""
    found = {}
    ceilings = cells[(cells["family"] == "ceiling") & (cells["implementation"] != PEAK)]
    for row in ceilings.to_dict("records"):
        framework, _, style = row["implementation"].partition("/")
        key = (row["device"], row["phase"], framework, row["generation"])
        if key not in found or "large" not in style:
            found[key] = row
    return found


def _over(row: Mapping, ceiling: Mapping) -> Ratio:
    found = estimates.ratio([row["process_medians_s"]], [ceiling["process_medians_s"]])
    return Ratio(found.ratio, found.low, found.high)


def _over_limit(row: Mapping, seconds: float) -> Ratio:
    return Ratio(*(end / seconds for end in estimates.product([row["process_medians_s"]], [1])))


def analyse(tables: Tables, about: Mapping, benchmark: str) -> Answer | None:
    cells = tables.measured(benchmark=benchmark, generation=NOW)
    own, peak = products(cells), limits(cells)
    found, broken = [], {}
    for row in cells[cells["flexibility"].notna()].sort_values("wall_median_s").to_dict("records"):
        place = (row["device"], row["phase"])
        ceiling = own.get((*place, library(row["implementation"]), row["generation"]))
        limit = peak.get(place)
        flexibility = _over(row, ceiling) if ceiling else None
        if ceiling and flexibility and (flexibility.high or flexibility.ratio) < 1:
            key = (ceiling["name"], row["phase"])
            if key not in broken or flexibility.ratio < broken[key].ratio.ratio:
                broken[key] = Broken(*key, ceiling["wall_median_s"], row["name"], flexibility)
        found.append(
            Row(
                row["name"],
                row["phase"],
                row["device"],
                row["wall_median_s"],
                flexibility,
                _over_limit(ceiling, limit) if ceiling and limit else None,
                limit / row["wall_median_s"] if limit else None,
            )
        )
    if not any(row.flexibility or row.share for row in found):
        return None
    return Answer(sorted(found, key=lambda row: row.phase != "training"), list(broken.values()))


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        "*Flexibility*: time over that of the framework's own matrix products. *Library*: those products over the time that the "
        "machine's multiply-add peak allows. Multiplied, they are the time over the peak."
    )
    for each in answer.broken:
        yield Text(
            f"{each.ceiling} ({each.phase}, {time(each.seconds)}) are no lower bound: {each.faster} takes "
            f"{brief(each.ratio.ratio, each.ratio.low, each.ratio.high)} of their time, with kernels of its own."
        )

    def told(ratio: Ratio | None) -> str:
        return brief(ratio.ratio, ratio.low, ratio.high) if ratio else DASH

    several = len({row.device for row in answer.rows}) > 1
    rows = [
        [
            row.name + (f", {row.device.upper()}" if several else ""),
            row.phase,
            time(row.seconds),
            told(row.flexibility),
            told(row.library),
            percent(row.share),
        ]
        for row in answer.rows
    ]
    yield Table(["Implementation", "Phase", "Batch", "Flexibility", "Library", "Of the peak"], rows)
