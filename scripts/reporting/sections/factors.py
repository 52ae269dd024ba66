"""Two factors apart: an implementation's overhead (its time over that of its own framework's matrix products) and what the
framework's library costs (those products over the machine's multiply-add peak)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from plan.matrix import NOW
from reporting.blocks import Block, Table, Text
from reporting.layout import DASH, percent, time, times
from reporting.relations import PEAK
from reporting.sections import Tables
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
    seconds: float
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
    return estimates.ratio([row["process_medians_s"]], [ceiling["process_medians_s"]])


def _over_limit(row: Mapping, seconds: float) -> Ratio:
    ends = [end / seconds for end in estimates.product([row["process_medians_s"]], [1])]
    return Ratio(*ends, estimates.compared(*ends[1:]))


def analyse(tables: Tables, about: Mapping, benchmark: str) -> Answer | None:
    cells = tables.measured(benchmark=benchmark, generation=NOW)
    own, peak = products(cells), limits(cells)
    found = []
    for row in cells[cells["flexibility"].notna()].sort_values("wall_median_s").to_dict("records"):
        place = (row["device"], row["phase"])
        ceiling = own.get((*place, library(row["implementation"]), row["generation"]))
        limit = peak.get(place)
        overhead = _over(row, ceiling) if ceiling else None
        found.append(
            Row(
                row["name"],
                row["phase"],
                row["device"],
                row["wall_median_s"],
                overhead,
                _over_limit(ceiling, limit) if ceiling and limit else None,
                limit / row["wall_median_s"] if limit else None,
            )
        )
    if not any(row.overhead or row.share for row in found):
        return None
    return Answer(sorted(found, key=lambda row: row.phase != "training"))


def _ranges(answer: Answer, phase: str) -> str:
    """How far both factors reach, in a sentence."""
    own = [row for row in answer.rows if row.phase == phase and row.overhead and row.library]
    if not own:
        return ""
    overheads = sorted((row.overhead for row in own), key=lambda each: each.ratio)
    libraries = sorted((row.library for row in own), key=lambda each: each.ratio)
    ends = [f"{times(found[0])} to {times(found[-1])}" for found in (overheads, libraries)]
    where = {"forward": "inference"}.get(phase, phase)
    return f" In {where}, the overhead is {ends[0]} and the library's factor {ends[1]}."


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        "*Overhead*: time relative to the framework's own matrix products; below 1, its kernels are faster than those products. "
        "*Library*: time of those products relative to the machine's multiply-add peak. Both multiplied give the time relative to "
        f"the peak. {DASH}: the framework's products were not measured."
        + "".join(_ranges(answer, phase) for phase in ("training", "forward"))
    )
    several = len({row.device for row in answer.rows}) > 1
    rows = [
        [
            row.name + (f", {row.device.upper()}" if several else ""),
            row.phase,
            time(row.seconds),
            times(row.overhead),
            times(row.library),
            percent(row.share),
        ]
        for row in answer.rows
    ]
    yield Table(
        ["Implementation", "Phase", "Time per batch", "Overhead", "Library", "Share of the peak"],
        rows,
    )
