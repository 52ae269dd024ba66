"""The same work on one thread and on all that were measured."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plan.matrix import NOW
from reporting.blocks import Block, Table
from reporting.layout import brief, percent, time
from reporting.sections import Tables
from stats import estimates


@dataclass(frozen=True)
class Scaling:
    name: str
    threads: int
    one_s: float
    many_s: float
    speedup: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Answer:
    rows: list[Scaling]


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    """Of benchmarks that say on how many threads: one thread, and the most."""
    shapes = about["document"]["benchmarks"]
    threads = {name: shape["threads"] for name, shape in shapes.items() if "threads" in shape}
    cells = tables.measured(device="cpu", generation=NOW)
    cells = cells[cells["benchmark"].isin(list(threads)) & cells["flexibility"].notna()]
    found = []
    for name, own in cells.groupby("name", sort=False):
        rows = {threads[row["benchmark"]]: row for row in own.to_dict("records")}
        most = max(rows)
        if 1 not in rows or most == 1:
            continue
        one, many = rows[1], rows[most]
        ratio = estimates.ratio([one["process_medians_s"]], [many["process_medians_s"]])
        times = one["wall_median_s"], many["wall_median_s"]
        found.append(Scaling(str(name), most, *times, ratio.ratio, ratio.low, ratio.high))
    found.sort(key=lambda each: -each.speedup)
    return Answer(found) if found else None


def write(answer: Answer) -> Iterator[Block]:
    rows = [
        [
            each.name,
            time(each.one_s),
            str(each.threads),
            time(each.many_s),
            brief(each.speedup, each.low, each.high),
            percent(each.speedup / each.threads),
        ]
        for each in answer.rows
    ]
    yield Table(["Implementation", "One thread", "Threads", "Time", "Speed-up", "Efficiency"], rows)
