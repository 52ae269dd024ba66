"""The forward template: one TIR function for a whole layer or stack, in real loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from recurrent_cells.cells.language import Cell
from recurrent_cells.cells.phases import forward_phases
from recurrent_cells.cells.simplify import lowered

from ..spec import KernelSpec, Schedule
from .gates import GateBlock, Operand
from .inference import Inference
from .layout import LINE, block_vectors, buffer_shapes, padded_size
from .phases import PhasedUpdate
from .tiles import Functions, parallel_panels
from .units import DividedUnits, divisible
from .vector import VectorUnit

Expr = Any


def add_forward(
    functions: Functions, cell: Cell, spec: KernelSpec, schedule: Schedule, unit: VectorUnit
) -> None:
    """Add the function `main`, which computes the kernel."""
    shapes = buffer_shapes(cell, spec, unit.lanes)
    with functions.function("main", shapes) as arguments, unit.imported():
        divided = schedule.units and divisible(cell, spec, unit.lanes)
        way = DividedUnits if divided else DividedRows
        way(cell, spec, schedule, unit, arguments).emit()


class DividedRows(Inference):
    """Emits the body of `main`.

    The batch is cut into panels of rows; a core takes a panel through all layers and all time
    steps, so cores never wait for each other. A panel keeps its own states, padded to whole vectors: the output
    h twice (the step before and this one), the others once.
    """

    def emit(self) -> None:
        parallel_panels(self.spec.batch, self.schedule.panel_rows, self.spec.threads, self._panel)

    def _panel(self, start: Expr, rows: int) -> None:
        """All layers of the `rows` batch rows from `start` on."""
        size = padded_size(self.spec.hidden_size, self.unit.lanes)
        state = ir.alloc_buffer((2, rows, size), "float32", align=64)
        memory = {
            name: ir.alloc_buffer((rows, self.padded), "float32", align=64)
            for name in self.cell.states[1:]
        }
        if self.unit.paired:
            # What products read of a step: x, and h of the step before.
            sizes = max(self.spec.input_sizes()), self.spec.hidden_size
            self._pairs = [
                ir.alloc_buffer(
                    (rows, padded_size(size, self.unit.lanes) // 2), "float32", align=64
                )
                for size in sizes
            ]
        x, y = self.arguments["x"], self.arguments["y"]
        phased = None
        if self.cell.norms:
            phased = PhasedUpdate(
                self.unit,
                self.cell,
                forward_phases(self.cell, self.cell.outputs),
                lambda wanted: lowered(self.cell, wanted, single=False),
                tuple(one.name for one in self.cell.sums),
                rows,
                self.spec.hidden_size,
                self.blocks,
            )
            phased.allocate()
        self._layer(start, rows, state, memory, phased, tirx.IntImm("int32", 0), x)
        if self.spec.depth > 1:
            # y serves as the sequence between layers too: step t of it is read for the last
            # time before it is written, as a step's output is copied there when it is complete.
            with ir.serial(self.spec.depth - 1) as lower:
                self._layer(start, rows, state, memory, phased, lower + 1, y)

    def _layer(
        self,
        start: Expr,
        rows: int,
        state: Expr,
        memory: dict[str, Expr],
        phased: PhasedUpdate | None,
        layer: Expr,
        source: Expr,
    ) -> None:
        """One layer for a panel: initial states in, all steps, final states out."""
        cell, spec, unit = self.cell, self.spec, self.unit
        arguments = self.arguments
        first = source.same_as(arguments["x"])
        inputs = spec.input_size if first else spec.hidden_size
        base = 0 if first else self.sizes[0] + (layer - 1) * self.sizes[-1]
        zero = tirx.IntImm("int32", 0)
        self._copy_rows(
            rows,
            lambda row, col: arguments[f"{cell.states[0]}0"][layer, start + row, col],
            lambda row, col, value: ir.buffer_store(state, value, [zero, row, col]),
            size=spec.hidden_size,
            pad=True,
        )
        for name, buffer in memory.items():
            self._copy_rows(
                rows,
                lambda row, col, name=name: arguments[f"{name}0"][layer, start + row, col],
                lambda row, col, value, buffer=buffer: ir.buffer_store(buffer, value, [row, col]),
                size=spec.hidden_size,
                pad=True,
            )
        blocks = self.blocks
        # Other layers read y while they compute, and odd sizes have no whole vectors.
        direct = first and spec.hidden_size % unit.lanes == 0
        lines = -(-inputs // (LINE * blocks))
        with ir.serial(spec.length) as step:
            now = tirx.floormod(step, 2)

            def load(row: Expr, name: str, column: Expr, now=now) -> Expr:
                if name == cell.states[0]:
                    return unit.load(state, now, row, column)
                if name in memory:
                    return unit.load(memory[name], row, column)
                return self.vector(layer, name, column)

            def store(row: Expr, name: str, value: Expr, column: Expr, step=step, now=now) -> None:
                if name in memory:
                    unit.store(memory[name], value, row, column)
                    return
                unit.store(state, value, 1 - now, row, column)
                if direct:
                    unit.store(arguments["y"], value, step, start + row, column)

            factors = (
                lambda row, k, step=step: source[step, start + row, k],
                lambda row, k, now=now: state[now, row, k],
            )
            if unit.paired:
                self._round(rows, factors, (inputs, spec.hidden_size))
                factors = tuple(lambda row, k, own=own: own[row, k] for own in self._pairs)
            with ir.serial(blocks) as block:

                def fetch(row: Expr, count: int, step=step, block=block) -> None:
                    """Every block fetches its share of the next step's rows."""
                    with ir.serial(lines) as line:
                        column = (block * lines + line) * LINE
                        for r in range(count):
                            unit.prefetch(source, step + 1, start + row + r, column, level=2)

                GateBlock(
                    unit=unit,
                    schedule=self.schedule,
                    cell=cell,
                    stages=self.stages,
                    rows=rows,
                    operands=(
                        Operand(True, spec.places(inputs), factors[0]),
                        Operand(False, spec.places(spec.hidden_size), factors[1]),
                    ),
                    weights=arguments["weights"],
                    weights_base=base
                    + block
                    * (
                        block_vectors(cell, spec.places(inputs), spec.places(spec.hidden_size))
                        * unit.lanes
                    ),
                    bias=arguments["bias"],
                    bias_base=(layer * blocks + block) * (len(cell.sums) * unit.lanes),
                    load=partial(load, column=block * unit.lanes),
                    store=partial(phased.put if phased else store, column=block * unit.lanes),
                    fetch=fetch,
                ).emit()
            if phased:
                phased.emit(load, store)
            if not direct:
                self._copy_rows(
                    rows,
                    lambda row, col: state[1 - now, row, col],
                    lambda row, col, value: ir.buffer_store(
                        arguments["y"], value, [step, start + row, col]
                    ),
                    size=spec.hidden_size,
                )
        self._copy_rows(
            rows,
            lambda row, col: state[spec.length % 2, row, col],
            lambda row, col, value: ir.buffer_store(
                arguments[cell.states[0]], value, [layer, start + row, col]
            ),
            size=spec.hidden_size,
        )
        for name, buffer in memory.items():
            self._copy_rows(
                rows,
                lambda row, col, buffer=buffer: buffer[row, col],
                lambda row, col, value, name=name: ir.buffer_store(
                    arguments[name], value, [layer, start + row, col]
                ),
                size=spec.hidden_size,
            )

    def _round(
        self, rows: int, factors: Sequence[Callable[[Expr, Expr], Expr]], sizes: Sequence[int]
    ) -> None:
        """Rows of x and of h to pairs of bfloat16, filled up by zeros to whole vectors."""
        unit, lanes = self.unit, self.unit.lanes
        for to, load, size in zip(self._pairs, factors, sizes, strict=True):

            def put(row: Expr, first: Expr, value: Expr, to: Expr = to) -> None:
                ir.buffer_store(to, unit.pairs(value), [row, tirx.Ramp(first // 2, 1, lanes // 2)])

            with ir.serial(rows) as row:
                if whole := size // lanes:
                    with ir.serial(whole) as block:
                        first = block * lanes
                        put(row, first, load(row, tirx.Ramp(first, 1, lanes)))
                if rest := size % lanes:
                    last = ir.alloc_buffer((lanes,), "float32")
                    unit.store(last, unit.splat(0.0), 0)
                    for n in range(rest):
                        column = tirx.IntImm("int32", whole * lanes + n)
                        ir.buffer_store(last, load(row, column), [n])
                    put(row, tirx.IntImm("int32", whole * lanes), unit.load(last, 0))

    def _copy_rows(
        self,
        rows: int,
        load: Callable[[Expr, Expr], Expr],
        store: Callable[[Expr, Expr, Expr], None],
        size: int,
        pad: bool = False,
    ) -> None:
        """Copy rows of `size` values; with `pad`, fill up to whole vectors by zeros."""
        lanes = self.unit.lanes
        whole = size // lanes
        with ir.serial(rows) as row:
            if whole:
                with ir.serial(whole) as block:
                    column = tirx.Ramp(block * lanes, 1, lanes)
                    store(row, column, load(row, column))
            for column in range(whole * lanes, size):
                store(row, tirx.IntImm("int32", column), load(row, tirx.IntImm("int32", column)))
            if pad:
                for column in range(size, padded_size(size, lanes)):
                    store(row, tirx.IntImm("int32", column), tirx.FloatImm("float32", 0.0))
