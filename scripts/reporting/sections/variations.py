"""What changes the time of the same implementation: departures from the protocol, another optimizer, half precision, an older
instruction set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plan.matrix import NOW
from reporting import words as wording
from reporting.blocks import Block, Table, Text
from reporting.layout import DASH, brief
from reporting.sections import Tables
from stats import estimates

TITLE = "How the protocol and the hardware change the numbers"
ISAS = {"avx2": "AVX2 instead of AVX-512"}


@dataclass(frozen=True)
class Variation:
    """The smallest and the largest ratio of the same implementation's time to its time without the variation."""

    called: str
    phase: str
    least: str  # in words
    most: str
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
            if sum(words(benchmarks, name) == called for name in cells["benchmark"].unique()) > 1:
                called += f" (`{benchmarks[benchmark]['baseline']}`)"
            ordered = own.sort_values("ratio_to_baseline").to_dict("records")
            least, most = (_told(row) for row in (ordered[0], ordered[-1]))
            found.append(Variation(called, str(phase), least, most, len(own)))
    return Answer(found) if found else None


def words(benchmarks: Mapping[str, Mapping], name: str) -> str:
    """What a benchmark changes of its baseline; "" where that is its shape."""
    own, other = benchmarks[name], benchmarks[benchmarks[name]["baseline"]]
    if "departure" in own:
        return wording.DEPARTURES[own["departure"]]
    if "data_type" in own:
        return f"{own['data_type']} products instead of float32"
    if "isa" in own:
        return ISAS.get(own["isa"], own["isa"])
    if own.get("optimizer", {}).get("name") != other.get("optimizer", {}).get("name"):
        return f"optimizer {own['optimizer']['name']} instead of {other['optimizer']['name']}"
    return ""


def _told(row: Mapping) -> str:
    ratio, low, high = (row[f"ratio_to_baseline{end}"] for end in ("", "_low", "_high"))
    open_ = " (undecided)" * (estimates.compared(low, high) == "undecided")
    return f"{brief(ratio, low, high)}{open_}: {row['name']}"


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        "Each implementation's time with the change, relative to its time without: the smallest and the largest ratio."
    )
    columns = {"Change": "called", "Phase": "phase", "Implementations": "count"}
    columns |= {"Smallest ratio": "least"}
    columns |= {"Largest ratio": lambda each: each.most if each.count > 1 else DASH}
    yield Table.of(answer.variations, columns)
