"""What changes the time of the same implementation: departures from the protocol, another optimizer, half precision, an older
instruction set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from measurement.departures import DESCRIPTIONS
from plan.matrix import NOW
from reporting.blocks import Block, Table, Text
from reporting.layout import DASH, brief
from reporting.sections import Tables

TITLE = "How the protocol and the hardware change the numbers"
ISAS = {"avx2": "AVX2 instead of AVX-512"}


@dataclass(frozen=True)
class Ratio:
    name: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Variation:
    """The least and the largest ratio of the same implementation's time to its time without the variation."""

    called: str
    phase: str
    least: Ratio
    most: Ratio
    count: int


@dataclass(frozen=True)
class Answer:
    variations: list[Variation]


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    benchmarks = about["document"]["benchmarks"]
    cells = tables.measured(generation=NOW)
    cells = cells[cells["ratio_to_baseline"].notna() & cells["flexibility"].notna()]
    found = []
    for (benchmark, phase), own in cells.groupby(["benchmark", "phase"], sort=False):
        if called := words(benchmarks, str(benchmark)):
            ordered = own.sort_values("ratio_to_baseline").to_dict("records")
            least, most = (_ratio(row) for row in (ordered[0], ordered[-1]))
            found.append(Variation(called, str(phase), least, most, len(own)))
    return Answer(found) if found else None


def words(benchmarks: Mapping[str, Mapping], name: str) -> str:
    """What a benchmark changes of its baseline; "" where that is its shape."""
    own, other = benchmarks[name], benchmarks[benchmarks[name]["baseline"]]
    if "departure" in own:
        return DESCRIPTIONS[own["departure"]]
    if "data_type" in own:
        return f"{own['data_type']} products instead of float32"
    if "isa" in own:
        return ISAS.get(own["isa"], own["isa"])
    if own.get("optimizer", {}).get("name") != other.get("optimizer", {}).get("name"):
        return f"optimizer {own['optimizer']['name']} instead of {other['optimizer']['name']}"
    return ""


def _ratio(row: Mapping) -> Ratio:
    ends = (row[f"ratio_to_baseline_{end}"] for end in ("low", "high"))
    return Ratio(
        row["name"], row["ratio_to_baseline"], *(None if pd.isna(end) else end for end in ends)
    )


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        "Each implementation's time over its own time without the change: the least and the largest ratio."
    )

    def told(ratio: Ratio) -> str:
        return f"{brief(ratio.value, ratio.low, ratio.high)}: {ratio.name}"

    rows = [
        [
            each.called,
            each.phase,
            str(each.count),
            told(each.least),
            told(each.most) if each.count > 1 else DASH,
        ]
        for each in answer.variations
    ]
    yield Table(["Change", "Phase", "Implementations", "Least", "Most"], rows)
