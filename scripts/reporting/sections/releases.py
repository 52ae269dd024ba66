"""From each year to the next: which implementations became slower."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reporting import profiles, timeline
from reporting.blocks import Block, Table, Text
from reporting.layout import time, times
from reporting.sections import Tables
from stats.estimates import Ratio


@dataclass(frozen=True)
class Step:
    name: str
    benchmark: str
    phase: str
    versions: str
    before_s: float
    after_s: float
    ratio: Ratio


@dataclass(frozen=True)
class Answer:
    slower: list[Step]  # the worst first
    pattern: str  # what `make profile` calls both sides of the worst
    steps: int
    faster: int
    same: int
    undecided: int


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    found = list(timeline.lines(tables.measured(), about))
    if not found:
        return None
    judged = timeline.releases(found)
    slower = judged[judged["verdict"] == "regression"].sort_values("ratio", ascending=False)
    counts = judged["verdict"].value_counts()
    rows = slower.to_dict("records")
    steps = [
        Step(
            *(row[key] for key in ("name", "benchmark", "phase")),
            re.sub(r"\+\w+", "", row["versions"]),  # without what a wheel was built for
            *(row[key] for key in ("before_s", "after_s")),
            Ratio(row["ratio"], row["low"], row["high"], "slower"),
        )
        for row in rows
    ]
    pattern = ""
    if rows:
        sides = [rows[0] | {"environment": point["environment"]} for point in rows[0]["points"]]
        pattern = ",".join(profiles.pattern(side) for side in sides)
    kept = (int(counts.get(key, 0)) for key in ("improvement", "same", "undecided"))
    return Answer(steps, pattern, len(judged), *kept)


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        f"Of {answer.steps} steps from one year's versions to the next, {len(answer.slower)} became slower, {answer.faster} faster, "
        f"{answer.same} did not change by more than {100 * timeline.RELEVANT:g} %, {answer.undecided} are undecided."
    )
    if answer.slower:
        columns = {"Implementation": "name", "Benchmark": "benchmark", "Phase": "phase"}
        columns |= {"Versions": "versions", "Before": lambda each: time(each.before_s)}
        columns |= {"After": lambda each: time(each.after_s)}
        yield Table.of(answer.slower, columns | {"Ratio": lambda each: times(each.ratio)})
    if answer.pattern:
        command = f"make profile ROWS='{answer.pattern}'"
        yield Text(f"To see where the time of the first one went: `{command}`.")
