"""Which versions' gradients were right, and which were refused."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reporting import timeline
from reporting.blocks import Block, Table, Text
from reporting.sections import Tables


@dataclass(frozen=True)
class Checked:
    environment: str
    version: str
    rows: int
    error: float  # the largest
    name: str  # of what


@dataclass(frozen=True)
class Answer:
    wrong: list[
        tuple[str, str, str, float]
    ]  # implementation, environment, benchmark, gradient error
    checked: list[Checked]


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    cells = tables.cells[tables.cells["phase"] == "training"]
    wrong = cells[cells["status"] == "incorrect"]
    checked = cells[(cells["status"] == "ok") & cells["gradient_error"].notna()]
    if checked.empty and wrong.empty:
        return None
    today, found = timeline.today(about), []
    for environment, own in checked.groupby("environment", sort=False):
        worst = own.loc[own["gradient_error"].idxmax()]
        version = str(worst["framework_version"]).partition("+")[0]
        found.append(
            Checked(str(environment), version, len(own), worst["gradient_error"], worst["name"])
        )
    found.sort(
        key=lambda each: (each.environment.split("-")[0], timeline.year_of(each.environment, today))
    )
    columns = ["name", "environment", "benchmark", "gradient_error"]
    return Answer([tuple(row) for row in wrong[columns].itertuples(index=False)], found)


def write(answer: Answer) -> Iterator[Block]:
    if answer.wrong:
        yield Text("Refused and not timed, as their gradients differ from the float64 reference's:")
        rows = [
            [name, environment, benchmark, f"{error:.1e}"]
            for name, environment, benchmark, error in answer.wrong
        ]
        yield Table(["Implementation", "Versions", "Benchmark", "Gradient error"], rows)
    else:
        yield Text("All gradients agree with the float64 reference's.")
    heads = ["Versions", "Release", "Implementations", "Largest gradient error", "Of"]
    yield Table(
        heads,
        [
            [each.environment, each.version, str(each.rows), f"{each.error:.1e}", each.name]
            for each in answer.checked
        ],
    )
