"""From each year to the next: which implementations became slower."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reporting import profiles, timeline
from reporting.blocks import Block, Table, Text
from reporting.layout import brief, time
from reporting.sections import Tables

COLUMNS = ["name", "benchmark", "phase", "versions", "before_s", "after_s", "ratio", "low", "high"]


@dataclass(frozen=True)
class Answer:
    slower: list[tuple]  # COLUMNS by name, the worst first
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
    pattern = ""
    if len(slower):
        worst = slower.iloc[0].to_dict()
        sides = [worst | {"environment": point["environment"]} for point in worst["points"]]
        pattern = ",".join(profiles.pattern(side) for side in sides)
    # Without what a wheel was built for.
    slower = slower.assign(versions=slower["versions"].str.replace(r"\+\w+", "", regex=True))
    steps = [*slower[COLUMNS].itertuples(index=False)]
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
        columns |= {"Ratio": lambda each: brief(each.ratio, each.low, each.high)}
        yield Table.of(answer.slower, columns)
    if answer.pattern:
        command = f"make profile ROWS='{answer.pattern}'"
        yield Text(f"To see where the time of the first one went: `{command}`.")
