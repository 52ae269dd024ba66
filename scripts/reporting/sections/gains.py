"""How many times as fast each implementation became over the years, and how much of that its library's products did."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reporting import timeline
from reporting.blocks import Block, Table, Text
from reporting.layout import DASH, brief
from reporting.sections import Tables
from reporting.timeline import CEILING
from stats import estimates


@dataclass(frozen=True)
class Gain:
    """Times faster, with the interval."""

    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Row:
    name: str
    since: int
    then: str
    now: str
    gain: Gain
    products: Gain | None  # of the library's matrix products in the same two environments
    rest: Gain | None  # what is left


@dataclass(frozen=True)
class Answer:
    rows: list[Row]
    phase: str


def _gain(first: list[dict], last: list[dict]) -> Gain:
    """From the first points to the last ones, of a product of two."""
    found = estimates.ratio([point["times"] for point in first], [point["times"] for point in last])
    return Gain(found.ratio, found.low, found.high)


def analyse(tables: Tables, about: Mapping, benchmark: str, phase: str) -> Answer | None:
    found = list(timeline.lines(tables.measured(benchmark=benchmark, phase=phase), about))
    ceilings = {
        (line["device"], line["framework"]): {p["environment"]: p for p in line["points"]}
        for line in found
        if line["level"] == CEILING
    }
    rows = []
    for line in found:
        if line["level"] == CEILING:
            continue
        first, last = line["points"][0], line["points"][-1]
        products = ceilings.get((line["device"], line["framework"]), {})
        both = {first["environment"], last["environment"]} <= products.keys()
        then, now = (products.get(point["environment"]) for point in (first, last))
        rows.append(
            Row(
                line["name"],
                first["year"],
                first["version"],
                last["version"].partition("+")[0],
                _gain([first], [last]),
                _gain([then], [now]) if both else None,
                _gain([first, now], [last, then]) if both else None,
            )
        )
    return Answer(rows, phase) if rows else None


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        "Median batch in the first version over that of today. *Products*: the same for the framework's matrix products alone; "
        "*rest*: what remains, due to the implementation and its framework. Below 1 is slower."
    )

    def told(gain: Gain | None) -> str:
        return brief(gain.ratio, gain.low, gain.high) if gain else DASH

    rows = [
        [
            each.name,
            str(each.since),
            each.then,
            each.now,
            *map(told, (each.gain, each.products, each.rest)),
        ]
        for each in answer.rows
    ]
    yield Table(
        ["Implementation", "Since", "Then", "Now", "Times faster", "Products", "Rest"], rows
    )
