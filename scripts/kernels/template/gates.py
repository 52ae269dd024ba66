"""The template's inner part: all weighted sums of one vector of hidden units, and the update, for a panel of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from recurrent_cells.cells.language import Cell, Expression, computed, in_order
from recurrent_cells.cells.simplify import Stage

from ..spec import Schedule
from .layout import passes, taking
from .tiles import Registers, accumulate, in_tiles, reduction, registers
from .vector import VectorUnit, read_again

Expr = Any


@dataclass(frozen=True)
class Operand:
    """One factor of the sums: whether it is x (else h), its reduction length and element(row of the panel, k); none where its
    part is in what the sums begin with."""

    is_x: bool
    length: int
    element: Callable[[Expr, Expr], Expr] | None


class Inputs(dict):
    """What a row's update reads, loaded where it is first asked for."""

    def __init__(self, load: Callable[[str], Expr]) -> None:
        super().__init__()
        self._load = load

    def __missing__(self, name: str) -> Expr:
        self[name] = ir.Bind(self._load(name))
        return self[name]


@dataclass(frozen=True)
class GateBlock:
    """Emits the sums and the update of `lanes` hidden units, for all rows of a panel.

    weights[weights_base ...]: for each pass, for each operand, [k][sums of the pass that have a part of it][lanes];
    bias[bias_base + sum * lanes + lane]. `load(row, name)` gives a state or vector, `store(row, name, value)` takes
    what the stages name; without stages, the sums. `fetch(row, rows)` may emit prefetches of what the next time step reads; it is called
    once for every tile. `before`: where the sums begin instead of with the bias, before(row, sum).

    With 4 sums in one pass the tile is, on 32 registers, 6 rows x 4 vectors. In passes of 2 it is
    12 rows x 2 vectors: each weight loaded serves twice the rows, so half the weights flow from
    the second-level cache, and a pass's panel of weights is half as large. The sums of all passes but the last wait
    in scratch.
    """

    unit: VectorUnit
    schedule: Schedule
    cell: Cell
    stages: list[Stage] | None
    rows: int
    operands: tuple[Operand, ...]
    weights: Expr
    weights_base: Expr
    bias: Expr
    bias_base: Expr
    load: Callable[[Expr, str], Expr]
    store: Callable[[Expr, str, Expr], None]
    fetch: Callable[[Expr, int], None]
    before: Callable[[Expr, int], Expr] | None = None

    def emit(self) -> None:
        """Emit all passes."""
        own = passes(self.cell, self.schedule.gates)
        waiting = None
        if len(own) > 1 and self.stages is not None:
            size = own[-1].start * self.unit.lanes
            waiting = ir.alloc_buffer((self.rows, size), "float32", align=64)
        base = self.weights_base
        for index, sums in enumerate(own):
            last = index == len(own) - 1
            base = self._pass(sums, base, waiting, index == 0, last)
            if not (last or waiting is None):
                read_again(waiting)

    def _pass(self, sums: range, base: Expr, waiting: Expr | None, first: bool, last: bool) -> Expr:
        """Sums stay in registers over the whole reduction; the update follows in place."""
        unit, lanes = self.unit, self.unit.lanes
        vectors = [taking(self.cell, sums, operand.is_x) for operand in self.operands]
        pairs = list(zip(self.operands, vectors, strict=True))
        lines = sum(operand.length * len(own) for operand, own in pairs)
        steps = sum(operand.length for operand, own in pairs if own)
        start = base

        def body(row: Expr, size: int, tile: Expr) -> None:
            register = registers(unit, size, len(sums), lambda r, v: self._begin(row + r, sums[v]))
            own_sums = {(r, sums[v]): one for (r, v), one in register.items()}
            offset, done = start, 0
            for operand, own in pairs:
                if own and operand.element:
                    ahead = self._ahead(start, lines, steps, done, tile)
                    self._multiply(own_sums, row, size, operand, own, offset, ahead)
                    done += operand.length
                offset = offset + operand.length * len(own) * lanes
            if first:
                self.fetch(row, size)
            if self.stages is None:
                for (r, v), one in own_sums.items():
                    self.store(row + r, self.cell.sums[v].name, unit.load(one, 0))
            elif last:
                self._update(own_sums, row, size, waiting)
            else:
                for (r, v), one in own_sums.items():
                    unit.store(waiting, unit.load(one, 0), row + r, v * lanes)

        in_tiles(self.rows, self.schedule.rows, body)
        return base + lines * lanes

    def _begin(self, row: Expr, one: int) -> Expr:
        if self.before is not None:
            return self.before(row, one)
        return self.unit.load(self.bias, self.bias_base + one * self.unit.lanes)

    def _ahead(
        self, start: Expr, lines: int, steps: int, done: int, tile: Expr
    ) -> Callable[[Expr], None]:
        """Each tile fetches a part of the next block of weights."""
        parts = max(1, -(-lines // steps))

        def fetch(k: Expr) -> None:
            for p in range(self.schedule.prefetch):
                part = tirx.floormod(tile * self.schedule.prefetch + p, parts)
                line = lines + part * steps + done + k
                # Not into the first level, which the current block's weights and rows need.
                self.unit.prefetch(self.weights, start + line * self.unit.lanes, level=2)

        return fetch

    def _multiply(
        self,
        sums: Registers,
        row: Expr,
        rows: int,
        operand: Operand,
        own: range,
        base: Expr,
        ahead: Callable[[Expr], None],
    ) -> None:
        """sums[r, one] += element(row + r, k) * weights[base + (k * sums + one) * lanes]."""
        lanes = self.unit.lanes

        def step(k: Expr) -> None:
            ahead(k)
            accumulate(
                self.unit,
                sums,
                rows,
                own,
                lambda r: operand.element(row + r, k),
                lambda one: self.unit.load(
                    self.weights, base + (k * len(own) + (one - own.start)) * lanes
                ),
            )

        reduction(operand.length, self.schedule.unroll, step)

    def _update(self, sums: Registers, row: Expr, rows: int, waiting: Expr | None) -> None:
        """Update the states of `rows` rows from `row` on."""
        places = {one.name: place for place, one in enumerate(self.cell.sums)}

        def load(r: int, name: str) -> Expr:
            if name not in places:
                return self.load(row + r, name)
            if (r, places[name]) in sums:
                return self.unit.load(sums[r, places[name]], 0)
            return self.unit.load(waiting, row + r, places[name] * self.unit.lanes)

        emit_stages(
            self.unit,
            self.cell,
            self.stages,
            rows,
            load,
            lambda r, name, value: self.store(row + r, name, value),
        )


def emit_stages(
    unit: VectorUnit,
    cell: Cell,
    stages: list[Stage],
    rows: int,
    load: Callable[[int, str], Expr],
    store: Callable[[int, str, Expr], None],
) -> None:
    """One vector of `rows` rows through all stages: load(row, name), store(row, name, value).

    Each stage is emitted for all rows before the next, so that long chains of dependent operations of several
    rows fit into the processor's scheduler.
    """
    known: list[dict[Expression, Expr]] = [{} for _ in range(rows)]
    inputs = [Inputs(partial(load, r)) for r in range(rows)]
    results = [one for stage in stages for one in stage.results.values()]
    for one in in_order(results):  # old states, before new ones take their places
        if one.operation == "input" and one.value in cell.states:
            for own in inputs:
                own[one.value]
    for stage in stages:
        roots = [*([] if stage.division is None else [stage.division]), *stage.results.values()]
        for r in range(rows):
            values = computed(roots, inputs[r], unit.operations, known[r])
            if stage.results:
                own = values[-len(stage.results) :]
                for name, value in zip(stage.results, own, strict=True):
                    store(r, name, value)
