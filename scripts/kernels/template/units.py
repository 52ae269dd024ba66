"""Forward for small batches: hidden units, not rows, are divided among the cores, which wait for each other once a step.

One parallel region holds all layers and steps. In it a parallel loop is divided among tasks that run already, and ends with the
run time's barrier, in which cores spin. The products with x have no such order: all steps' are made at once before a
layer begins, so that a step reads the recurrent weights alone, each core its own units' from its own cache. (With one row, what is done row by row is done by every core, to the same end.)
"""

# ruff: noqa: B023 (functions are called where they are made: they emit code)

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from recurrent_cells.cells.language import Cell

from ..spec import KernelSpec, Schedule
from .gates import GateBlock, Operand
from .inference import Inference
from .layout import block_vectors, passes, taking
from .tiles import accumulate, in_tiles, integer, reduction, registers
from .vector import VectorUnit, read_again

Expr = Any


STACK = 1024
"""Bytes up to which TVM puts a buffer on the stack, where each core has its own."""


def divisible(cell: Cell, spec: KernelSpec, lanes: int) -> bool:
    """Whether the units of a kernel can be divided among cores: it takes two vectors of them (see `phase`), and rows of
    bfloat16 are made by the core that multiplies by them."""
    return spec.hidden_size > lanes and not (cell.norms or spec.paired)


def shared(first: int, *rest: int) -> Expr:
    """A buffer that all cores see: longer than it need be where it is very small."""
    one = 4 * math.prod(rest)
    return ir.alloc_buffer((max(first, STACK // one + 1), *rest), "float32", align=64)


def one_region() -> Any:
    """A region in which all cores run, until each `phase` in it has ended for all."""
    return ir.attr(integer(0), "pragma_parallel_launch_point", integer(1))


def phase(extent: int, body: Callable[[Expr], None]) -> None:
    """A loop that the cores share, and wait for each other at its end. With one iteration, every core would do it."""
    with (
        ir.attr(integer(0), "pragma_parallel_barrier_when_finish", integer(1)),
        ir.parallel(extent) as index,
    ):
        body(index)


def emit_input_sums(
    unit: VectorUnit,
    cell: Cell,
    schedule: Schedule,
    rows: int,
    inputs: int,
    outputs: int,
    element: Callable[[Expr, Expr], Expr],
    weights: Expr,
    base: Expr,
    bias: Callable[[int], Expr],
    store: Callable[[Expr, int, Expr], None],
) -> None:
    """The sums' parts of x, with their bias, of one block of units: store(row, sum, value) of element(row, k) times
    the block's weights, from weights[base] on, as GateBlock reads them."""
    for sums in passes(cell, schedule.gates):
        own, first = taking(cell, sums, True), base

        def body(row: Expr, high: int, _tile: Expr) -> None:
            read_again(weights)  # and the bias
            found = registers(unit, high, len(own), lambda r, v: bias(own[v]))
            reduction(
                inputs,
                schedule.unroll,
                lambda k: accumulate(
                    unit,
                    found,
                    high,
                    range(len(own)),
                    lambda r: element(row + r, k),
                    lambda v: unit.load(weights, first + (k * len(own) + v) * unit.lanes),
                ),
            )
            for (r, v), register in found.items():
                store(row + r, own[v], unit.load(register, 0))

        if own:
            in_tiles(rows, schedule.rows, body)
        recurrent = len(taking(cell, sums, False)) * outputs
        base = base + (len(own) * inputs + recurrent) * unit.lanes


class DividedUnits(Inference):
    """Emits the body of `main`."""

    def emit(self) -> None:
        """All layers, then y from the last one's sequence."""
        spec, lanes = self.spec, self.unit.lanes
        rows = spec.length * spec.batch
        width = self.cell.x_sums * lanes
        self.sums = shared(self.blocks, rows, width)
        self.sequence = shared(spec.length + 1, spec.batch, self.padded)
        self.memory = {name: shared(spec.batch, self.padded) for name in self.cell.states[1:]}
        x = self.arguments["x"]
        with one_region():
            self._layer(integer(0), lambda row, k: x[0, row, k], spec.input_size, integer(0))
            if spec.depth > 1:
                with ir.serial(spec.depth - 1) as lower:
                    self._layer(
                        lower + 1,
                        lambda row, k: self.sequence[1, row, k],
                        spec.hidden_size,
                        self.sizes[0] + lower * self.sizes[-1],
                    )

            def copy(step: Expr) -> None:
                with ir.serial(spec.batch) as r, ir.serial(spec.hidden_size) as k:
                    value = self.sequence[step + 1, r, k]
                    ir.buffer_store(self.arguments["y"], value, [step, r, k])

            phase(spec.length, copy)

    def _layer(
        self, layer: Expr, source: Callable[[Expr, Expr], Expr], inputs: int, base: Expr
    ) -> None:
        """source(row, k): of x, all steps' rows below each other, which one pointer then reaches (a pointer for each would
        take more registers than AVX2's tiles leave)."""
        spec, cell, unit, lanes = self.spec, self.cell, self.unit, self.unit.lanes
        total = block_vectors(cell, inputs, spec.hidden_size) * lanes
        phase(self.blocks, lambda block: self._from_input(block, layer, source, inputs, base))
        phase(spec.batch, lambda row: self._begin(row, layer))

        def step(t: Expr, block: Expr) -> None:
            column = block * lanes

            def load(row: Expr, name: str) -> Expr:
                if name == cell.states[0]:
                    return unit.load(self.sequence, t, row, column)
                if name in self.memory:
                    return unit.load(self.memory[name], row, column)
                return self.vector(layer, name, column)

            def store(row: Expr, name: str, value: Expr) -> None:
                if name in self.memory:
                    unit.store(self.memory[name], value, row, column)
                else:
                    unit.store(self.sequence, value, t + 1, row, column)

            def before(row: Expr, one: int) -> Expr:
                if cell.sums[one].x:
                    return unit.load(self.sums, block, t * spec.batch + row, integer(one * lanes))
                return self._bias(layer, block, one)

            GateBlock(
                unit=unit,
                schedule=self.schedule,
                cell=cell,
                stages=self.stages,
                rows=spec.batch,
                operands=(
                    Operand(True, inputs, None),
                    Operand(False, spec.hidden_size, lambda r, k: self.sequence[t, r, k]),
                ),
                weights=self.arguments["weights"],
                weights_base=base + block * total,
                bias=self.arguments["bias"],
                bias_base=integer(0),
                load=load,
                store=store,
                fetch=lambda row, rows: None,
                before=before,
            ).emit()

        with ir.serial(spec.length) as t:
            phase(self.blocks, lambda block: step(t, block))
        phase(spec.batch, lambda row: self._end(row, layer))

    def _bias(self, layer: Expr, block: Expr, one: int) -> Expr:
        place = ((layer * self.blocks + block) * len(self.cell.sums) + one) * self.unit.lanes
        return self.unit.load(self.arguments["bias"], place)

    def _from_input(
        self,
        block: Expr,
        layer: Expr,
        source: Callable[[Expr, Expr], Expr],
        inputs: int,
        base: Expr,
    ) -> None:
        """The sums' parts of x of all steps for one block of units."""
        spec, lanes = self.spec, self.unit.lanes
        emit_input_sums(
            self.unit,
            self.cell,
            self.schedule,
            spec.length * spec.batch,
            inputs,
            spec.hidden_size,
            source,
            self.arguments["weights"],
            base + block * (block_vectors(self.cell, inputs, spec.hidden_size) * lanes),
            lambda v: self._bias(layer, block, v),
            lambda row, v, value: self.unit.store(self.sums, value, block, row, integer(v * lanes)),
        )

    def _begin(self, row: Expr, layer: Expr) -> None:
        """Initial states of a row, zeros where units pad."""
        hidden = self.spec.hidden_size
        zero = tirx.FloatImm("float32", 0.0)
        for name in self.cell.states:
            first = name == self.cell.states[0]
            place = [integer(0), row] if first else [row]
            to = self.sequence if first else self.memory[name]
            with ir.serial(hidden) as k:
                ir.buffer_store(to, self.arguments[f"{name}0"][layer, row, k], [*place, k])
            with ir.serial(self.padded - hidden) as k:
                ir.buffer_store(to, zero, [*place, hidden + k])

    def _end(self, row: Expr, layer: Expr) -> None:
        """Final states of a row."""
        for name in self.cell.states:
            with ir.serial(self.spec.hidden_size) as k:
                if name == self.cell.states[0]:
                    value = self.sequence[self.spec.length, row, k]
                else:
                    value = self.memory[name][row, k]
                ir.buffer_store(self.arguments[name], value, [layer, row, k])
