"""What both ways of inference share: rows of the batch divided among cores (`forward`), or hidden units (`units`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from recurrent_cells.cells.language import Cell
from recurrent_cells.cells.simplify import Stage, stages

from ..spec import KernelSpec, Schedule
from .layout import padded_size, weight_sizes
from .vector import VectorUnit

Expr = Any


@dataclass
class Inference:
    """A kernel of all layers and steps, and its arguments (see layout.buffer_shapes)."""

    cell: Cell
    spec: KernelSpec
    schedule: Schedule
    unit: VectorUnit
    arguments: dict[str, Expr]

    @cached_property
    def padded(self) -> int:
        """Hidden units in whole vectors."""
        return padded_size(self.spec.hidden_size, self.unit.lanes)

    @property
    def blocks(self) -> int:
        """Vectors of hidden units."""
        return self.padded // self.unit.lanes

    @cached_property
    def sizes(self) -> list[int]:
        """Packed weights of every layer."""
        return weight_sizes(self.cell, self.spec, self.unit.lanes)

    @cached_property
    def stages(self) -> list[Stage] | None:
        """The update; none where it has phases."""
        return None if self.cell.norms else stages(self.cell, {})

    def vector(self, layer: Expr, name: str, column: Expr) -> Expr:
        """A vector of the cell's."""
        place = layer * len(self.cell.vectors) + self.cell.vectors.index(name)
        return self.unit.load(self.arguments["vectors"], place * self.padded + column)
