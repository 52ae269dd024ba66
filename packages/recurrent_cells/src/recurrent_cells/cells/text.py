"""Cells as text: a JSON document of what a cell declares and of its graph. It is what pickles and exported programs hold."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

from .language import Cell, CellError, Expression, in_order

_NAMES = (
    "gates",
    "apart",
    "states",
    "vectors",
    "x_only",
    "h_only",
    "starts",
    "around",
    "matrices",
    "squares",
)


def to_text(cell: Cell) -> str:
    """The text that `from_text` makes the same cell of."""
    kept = cell.__dict__  # where cached_property keeps what it made
    if "text" not in kept:
        kept["text"] = _written(cell)
    found: str = kept["text"]
    return found


def _written(cell: Cell) -> str:
    nodes = in_order(cell.outputs.values())
    place = {node: number for number, node in enumerate(nodes)}
    facts: dict[str, Any] = {name: list(getattr(cell, name)) for name in _NAMES}
    for name in ("apart", "x_only", "h_only"):
        facts[name].sort()
    graph = [[one.operation, one.value, *map(place.__getitem__, one.arguments)] for one in nodes]
    new = [place[one] for one in cell.outputs.values()]
    facts |= {"name": cell.name, "projected": cell.projected, "heads": cell.heads}
    facts |= {"graph": graph, "new": new}
    return json.dumps(facts, separators=(",", ":"))


@functools.cache
def from_text(text: str) -> Cell:
    """The cell of a text; one object for one text, a predefined cell for its own text. Its constants have become numbers."""
    from . import CELLS

    facts = json.loads(text)
    known = CELLS.get(facts["name"]) if "." not in facts["name"] else None
    if known is not None and to_text(known) == text:
        return known
    nodes: list[Expression] = []
    for operation, value, *places in facts["graph"]:
        arguments = [nodes[place] for place in places]
        nodes.append(Expression.of(operation, *arguments, value=value))
    declared = {name: tuple(facts[name]) for name in _NAMES}
    for name in ("apart", "x_only", "h_only"):
        declared[name] = frozenset(declared[name])  # type: ignore[assignment]
    made = Cell(
        name=facts["name"],
        projected=facts["projected"],
        heads=facts["heads"],
        update=_no_update(facts["name"]),
        **declared,
    )
    outputs = _outputs(made.states, [nodes[place] for place in facts["new"]])
    made.__dict__["outputs"] = outputs  # where cached_property keeps it
    return made


def _outputs(states: Sequence[str], new: Sequence[Expression]) -> dict[str, Expression]:
    return dict(zip(states, new, strict=True))


def _no_update(name: str) -> Callable[..., Any]:
    def update() -> Any:
        raise CellError(f"cell {name} was restored from its graph: its function is not there")

    return update
