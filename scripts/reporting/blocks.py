"""What a section writes: text, tables and figures. Templates lay them out, and know nothing of what they say."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from reporting.layout import DASH, cell

NUMBER = re.compile(r"[−-]?\d[\d,.]*(?:e[+-]?\d+)?(?![\w-])")


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2
    kind: str = "heading"


@dataclass(frozen=True)
class Text:
    """A paragraph in Markdown."""

    text: str
    kind: str = "text"


@dataclass(frozen=True)
class Points:
    """A list, an entry in Markdown each."""

    points: Sequence[str]
    kind: str = "points"


@dataclass(frozen=True)
class Code:
    text: str
    kind: str = "code"


@dataclass(frozen=True)
class Table:
    """Columns of numbers, or with `numbers` all but the first, are aligned to the right; those without an entry in any row are left
    out, but for the first."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: bool = False
    kind: str = "table"

    @classmethod
    def of(
        cls, rows: Iterable[object], columns: Mapping[str, str | Callable[..., object]]
    ) -> "Table":
        """A row of each object: below a heading its attribute of this name, or what the function says of it."""
        found = [
            [str(getattr(row, of) if isinstance(of, str) else of(row)) for of in columns.values()]
            for row in rows
        ]
        return cls([*columns], found)

    @property
    def shown(self) -> list[int]:
        places = range(len(self.heads))
        return [
            at for at in places if not at or any(row[at] not in ("", DASH) for row in self.rows)
        ]

    def align(self, at: int) -> str:
        told = [row[at] for row in self.rows if row[at] not in ("", DASH)]
        numbers = [text for text in told if NUMBER.match(text.strip("*"))]
        most = told and 2 * len(numbers) >= len(told)
        return "--:" if most or (self.numbers and at) else ":--"


@dataclass(frozen=True)
class Figure:
    """A file below the document's folder of figures, and what it shows in words."""

    file: str
    text: str
    folder: str = ""
    kind: str = "figure"


Block = Heading | Text | Points | Code | Table | Figure


def as_data(blocks: Iterable[Block]) -> list[dict]:
    """JSON of blocks: tables with their shown columns alone."""
    return [
        _table(block) if isinstance(block, Table) else dataclasses.asdict(block) for block in blocks
    ]


def _table(block: Table) -> dict:
    return {
        "kind": block.kind,
        "heads": [cell(block.heads[at]) for at in block.shown],
        "align": [block.align(at) for at in block.shown],
        "rows": [[cell(row[at]) for at in block.shown] for row in block.rows],
    }
