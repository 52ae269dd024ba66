"""Updates of cells that normalise over the hidden units: phases for all units of a panel's rows, means of rows between."""

# ruff: noqa: B023 (functions are called where they are made: they emit code)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from recurrent_cells.cells.language import VARIANCE, Cell, Expression
from recurrent_cells.cells.phases import MEANS, Moments, Phase, row_values
from recurrent_cells.cells.simplify import Stage

from .blocking import updated_together
from .gates import emit_stages
from .tiles import in_tiles, integer, registers
from .vector import VectorUnit

Expr = Any


@dataclass(frozen=True)
class PhasedUpdate:
    """Emits the phases of one step for `rows` rows; `hidden` units, in whole vectors `blocks`.

    `names`: values that come in through `put`, of all units, before `emit`; `lower`: what a phase wants, in stages.
    What phases compute for later ones, and two numbers of every norm, lie in scratch.
    """

    unit: VectorUnit
    cell: Cell
    phases: list[Phase]
    lower: Callable[[dict[str, Expression]], list[Stage]]
    names: tuple[str, ...]
    rows: int
    hidden: int
    blocks: int

    @cached_property
    def _places(self) -> dict[str, int]:
        own = [name for phase in self.phases[:-1] for name in phase.wanted]
        return {name: place for place, name in enumerate((*self.names, *own))}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {
            f"{name}_{one.number}": 2 * one.number + place
            for phase in self.phases
            for one in phase.moments
            for place, name in enumerate(MEANS[one.other is not None])
        }

    @cached_property
    def _values(self) -> Expr:
        shape = (self.rows, len(self._places), self.blocks * self.unit.lanes)
        return ir.alloc_buffer(shape, "float32", align=64)

    @cached_property
    def _means(self) -> Expr:
        shape = (max(self.rows, 16), 2 * row_values(self.phases))
        return ir.alloc_buffer(shape, "float32", align=64)

    def allocate(self) -> None:
        """Make the scratch, where the panel's loops begin."""
        _ = self._values, self._means

    def put(self, row: Expr, name: str, value: Expr, column: Expr) -> None:
        """Hand in one vector of a row."""
        self.unit.store(self._values, value, row, integer(self._places[name]), column)

    def _load(self, row: Expr, name: str, column: Expr) -> Expr | None:
        """What lies in scratch: a vector, or a number of the row."""
        if name in self._places:
            return self.unit.load(self._values, row, integer(self._places[name]), column)
        if name in self._numbers:
            return self.unit.splat(self._means[row, self._numbers[name]])
        return None

    def emit(
        self,
        load: Callable[[Expr, str, Expr], Expr],
        store: Callable[[Expr, str, Expr, Expr], None],
        keep: Callable[[Expr, int, Expr], None] = lambda row, number, value: None,
    ) -> None:
        """load(row, name, column): what is not in scratch; store(row, name, value, column): the last phase's results;
        keep(row, number, value): the inverse of norm `number`'s deviation.
        """
        for phase in self.phases:
            if phase.wanted:
                stages = self.lower(phase.wanted)
                with ir.serial(self.blocks) as block:
                    column = block * self.unit.lanes

                    def found(row: Expr, name: str) -> Expr:
                        value = self._load(row, name, column)
                        return load(row, name, column) if value is None else value

                    def put(row: Expr, name: str, value: Expr) -> None:
                        if name in self._places:
                            self.put(row, name, value, column)
                        else:
                            store(row, name, value, column)

                    def body(first: Expr, count: int, _tile: Expr) -> None:
                        emit_stages(
                            self.unit,
                            self.cell,
                            stages,
                            count,
                            lambda r, name: found(first + r, name),
                            lambda r, name, value: put(first + r, name, value),
                        )

                    in_tiles(self.rows, updated_together(self.unit.core), body)
            if phase.moments:
                with ir.serial(self.rows) as row:
                    for one in phase.moments:
                        self._emit_moments(one, row, load, keep)

    def _emit_moments(
        self,
        one: Moments,
        row: Expr,
        load: Callable[[Expr, str, Expr], Expr],
        keep: Callable[[Expr, int, Expr], None],
    ) -> None:
        unit = self.unit

        def mean(value: Callable[[Expr], Expr]) -> Expr:
            total = registers(unit, 1, 1, lambda r, v: unit.splat(0.0))[0, 0]
            with ir.serial(self.hidden // unit.lanes) as block:
                unit.store(total, unit.load(total, 0) + value(block * unit.lanes), 0)
            rest = self.hidden % unit.lanes
            if rest:  # what pads a vector has no share
                own = value(integer(self.hidden - rest))
                inside = tirx.Ramp(integer(0), integer(1), unit.lanes) < unit.splat(integer(rest))
                unit.store(
                    total, unit.load(total, 0) + tirx.Select(inside, own, unit.splat(0.0)), 0
                )
            return self._held(unit.total(total) * tirx.FloatImm("float32", 1.0 / self.hidden))

        def source(column: Expr) -> Expr:
            return self._load(row, one.source, column)

        first = mean(source)
        if one.other is None:

            def squared(column: Expr) -> Expr:
                away = unit.held(source(column) - unit.splat(first))
                return away * away

            variance = mean(squared) + tirx.FloatImm("float32", VARIANCE)
            inverse = self._held(tirx.FloatImm("float32", 1.0) / tirx.sqrt(variance))
            keep(row, one.number, inverse)
            pair = inverse, first * inverse
        else:
            pair = first, mean(lambda column: source(column) * load(row, one.other, column))
        for place, value in enumerate(pair):
            ir.buffer_store(self._means, value, [row, integer(2 * one.number + place)])

    def _held(self, value: Expr) -> Expr:
        number = ir.alloc_buffer((1,), "float32")
        ir.buffer_store(number, value, [0])
        return number[0]
