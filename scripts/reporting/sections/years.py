"""One workload over the years: time of a batch, and how many times as fast each implementation became."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reporting import timeline
from reporting.blocks import Block, Table, Text
from reporting.layout import three_digits, times
from reporting.sections import Tables
from stats import estimates
from stats.estimates import Ratio


@dataclass(frozen=True)
class Line:
    """An implementation: the time of a batch by year, and its first over its last, with the 95 % interval."""

    name: str
    seconds: dict[int, float]
    gain: Ratio


@dataclass(frozen=True)
class Answer:
    lines: list[Line]
    benchmark: str
    phase: str


def _line(found: Mapping) -> Line:
    first, *_, last = found["points"]
    seconds = {point["year"]: point["wall_median_s"] for point in found["points"]}
    return Line(found["name"], seconds, estimates.ratio([first["times"]], [last["times"]]))


def analyse(tables: Tables, about: Mapping, benchmark: str, phase: str) -> Answer | None:
    found = timeline.lines(tables.measured(benchmark=benchmark, phase=phase), about)
    lines = [_line(each) for each in found]
    return Answer(lines, benchmark, phase) if lines else None


def write(answer: Answer) -> Iterator[Block]:
    years = sorted({year for line in answer.lines for year in line.seconds})
    rows = []
    for line in answer.lines:
        took = line.seconds
        shown = [three_digits(1e3 * took[year]) if year in took else "" for year in years]
        rows.append([line.name, *shown, times(line.gain)])
    yield Table(["Implementation (ms)", *map(str, years), "Times faster"], rows)
    yield Text(
        f"[As curves](index.html#benchmark={answer.benchmark}&phase={answer.phase}&view=year)"
    )
