"""What is compared: each implementation's name, its level of flexibility, and what it does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reporting.blocks import Block, Table
from reporting.sections import Tables


@dataclass(frozen=True)
class Row:
    label: str
    level: str
    does: str


@dataclass(frozen=True)
class Answer:
    rows: list[Row]


def analyse(tables: Tables, about: Mapping, of: Sequence[str]) -> Answer | None:
    entries = {each["implementation"]: each for each in about["entries"]}
    rows = [
        Row(about["labels"][name], entries[name]["flexibility"], entries[name]["does"])
        for name in of
        if name in entries
    ]
    return Answer(rows) if rows else None


def write(answer: Answer) -> Iterator[Block]:
    rows = [
        [each.label, each.level, each.does.partition(". ")[0].rstrip(".")] for each in answer.rows
    ]
    yield Table(["Name", "Level", "Details"], rows)
