"""What a reader of the published document should know, as points of the document's file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reporting.blocks import Block, Points, Text
from reporting.sections import Tables


@dataclass(frozen=True)
class Answer:
    text: str
    points: list[str]


def analyse(tables: Tables, about: Mapping, text: str = "", points: Sequence[str] = ()) -> Answer:
    return Answer(text, list(points))


def write(answer: Answer) -> Iterator[Block]:
    if answer.text:
        yield Text(answer.text)
    if answer.points:
        yield Points(answer.points)
