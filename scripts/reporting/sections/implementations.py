"""What is compared: each implementation's name, its level of flexibility, and what it does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reporting.blocks import Block, Table
from reporting.sections import Tables


@dataclass(frozen=True)
class Answer:
    rows: list[tuple[str, str, str]]  # label, level, what it does


def analyse(tables: Tables, about: Mapping, of: Sequence[str]) -> Answer | None:
    entries = {each["implementation"]: each for each in about["entries"]}
    rows = [
        (about["labels"][name], entries[name]["flexibility"], entries[name]["does"])
        for name in of
        if name in entries
    ]
    return Answer(rows) if rows else None


def write(answer: Answer) -> Iterator[Block]:
    rows = [[*names, does.partition(". ")[0].rstrip(".")] for *names, does in answer.rows]
    yield Table(["Name", "Level", "Details"], rows)
