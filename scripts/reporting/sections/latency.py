"""Single calls, warm: the median and the 99th percentile."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from plan.matrix import NOW
from reporting.blocks import Block, Table, Text
from reporting.layout import time, time_within
from reporting.sections import Tables, on

FASTEST = 5  # of each shape


@dataclass(frozen=True)
class Call:
    benchmark: str
    name: str
    seconds: float
    within: tuple[float, float] | None
    p99_s: float


@dataclass(frozen=True)
class Answer:
    calls: list[Call]  # of each shape the fastest


def analyse(tables: Tables, about: Mapping, benchmarks: Sequence[str]) -> Answer | None:
    cells = on(tables.measured(generation=NOW), benchmarks)
    cells = cells[cells["flexibility"].notna()].sort_values("wall_median_s")
    found = [
        Call(
            str(benchmark),
            row["name"],
            row["wall_median_s"],
            (row["wall_low_s"], row["wall_high_s"]) if row["interval"] == "confidence" else None,
            row["wall_p99_s"],
        )
        for benchmark, own in cells.groupby("benchmark")
        for row in own.head(FASTEST).to_dict("records")
    ]
    return Answer(found) if found else None


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        f"The {FASTEST} fastest of each shape. A call is timed from the host's array to the result in memory; calls are warm and "
        "follow each other."
    )
    rows = [
        [
            each.benchmark,
            each.name,
            time_within(each.seconds, *(each.within or (None, None))),
            time(each.p99_s),
        ]
        for each in answer.calls
    ]
    yield Table(["Shape", "Implementation", "Median", "99th percentile"], rows)
