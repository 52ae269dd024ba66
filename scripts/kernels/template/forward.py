"""The schedule template: one TIR function for a whole LSTM layer or stack, in real loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import ir as tvm_ir
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.tirx.script import builder as ir

from ..spec import KernelSpec, Schedule
from .gates import GateBlock, Operand
from .vector import VectorUnit
from .weights import padded_size, weight_sizes

LINE = 16
"""float32 values in a cache line."""

Expr = Any


def buffer_shapes(spec: KernelSpec, lanes: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the kernel's arguments, in their order; all are float32.

    x [T, B, K] input; weights and bias as `weights.pack` gives them; h0 and c0 [D, B, H]
    initial state; y [T, B, H] the last layer's output; h and c [D, B, H] final state.
    """
    state = (spec.depth, spec.batch, spec.hidden_size)
    return {
        "x": (spec.length, spec.batch, spec.input_size),
        "weights": (sum(weight_sizes(spec, lanes)),),
        "bias": (spec.depth * 4 * padded_size(spec.hidden_size, lanes),),
        "h0": state,
        "c0": state,
        "y": (spec.length, spec.batch, spec.hidden_size),
        "h": state,
        "c": state,
    }


def build_function(spec: KernelSpec, schedule: Schedule, unit: VectorUnit) -> tvm_ir.PrimFunc:
    """Build the function `main` that computes the kernel."""
    with IRBuilder() as builder, ir.prim_func(s_tir=True):
        ir.func_name("main")
        ir.func_attr({"global_symbol": "main", "tirx.noalias": True})
        arguments = {
            name: ir.arg(name, ir.Buffer(shape, "float32"))
            for name, shape in buffer_shapes(spec, unit.lanes).items()
        }
        _Template(spec, schedule, unit, arguments).emit()
    return builder.get()


def parallel_panels(
    rows: int, panel_rows: int, threads: int, emit: Callable[[Expr, int], None]
) -> None:
    """Divide rows into panels that cores take in parallel: `emit(first row, rows)` emits one's body.

    The number of panels is a multiple of the threads where there are enough rows; some have one
    row more than the others.
    """
    panels = -(-rows // panel_rows)
    panels = -(-panels // threads) * threads
    panels = min(panels, rows)
    size, extra = divmod(rows, panels)
    with ir.parallel(panels) as panel:
        if not extra:
            emit(panel * size, size)
            return
        with ir.If(panel < extra):
            with ir.Then():
                emit(panel * (size + 1), size + 1)
            with ir.Else():
                emit(panel * size + extra, size)


class _Template:
    """Emits the function body.

    The batch is cut into panels of rows; a core takes a panel through all layers and all time
    steps, so cores never wait for each other. A panel keeps its own state: h twice (the step
    before and this one), padded to whole vectors, and c.
    """

    def __init__(
        self, spec: KernelSpec, schedule: Schedule, unit: VectorUnit, arguments: dict[str, Expr]
    ) -> None:
        self.spec, self.schedule, self.unit = spec, schedule, unit
        self.arguments = arguments
        self.padded = padded_size(spec.hidden_size, unit.lanes)
        self.sizes = weight_sizes(spec, unit.lanes)

    def emit(self) -> None:
        parallel_panels(self.spec.batch, self.schedule.panel_rows, self.spec.threads, self._panel)

    def _panel(self, start: Expr, rows: int) -> None:
        """All layers of the `rows` batch rows from `start` on."""
        state = ir.alloc_buffer((2, rows, self.padded), "float32", align=64)
        cell = ir.alloc_buffer((rows, self.padded), "float32", align=64)
        x, y = self.arguments["x"], self.arguments["y"]
        self._layer(start, rows, state, cell, tirx.IntImm("int32", 0), x)
        if self.spec.depth > 1:
            # y serves as the sequence between layers too: step t of it is read for the last
            # time before it is written, as a step's output is copied there when it is complete.
            with ir.serial(self.spec.depth - 1) as lower:
                self._layer(start, rows, state, cell, lower + 1, y)

    def _layer(
        self, start: Expr, rows: int, state: Expr, cell: Expr, layer: Expr, source: Expr
    ) -> None:
        """One layer for a panel: initial state in, all steps, final state out."""
        spec, unit = self.spec, self.unit
        arguments = self.arguments
        first = source.same_as(arguments["x"])
        inputs = spec.input_size if first else spec.hidden_size
        base = 0 if first else self.sizes[0] + (layer - 1) * self.sizes[-1]
        zero = tirx.IntImm("int32", 0)
        self._copy_rows(
            rows,
            lambda row, col: arguments["h0"][layer, start + row, col],
            lambda row, col, value: ir.buffer_store(state, value, [zero, row, col]),
            pad=True,
        )
        self._copy_rows(
            rows,
            lambda row, col: arguments["c0"][layer, start + row, col],
            lambda row, col, value: ir.buffer_store(cell, value, [row, col]),
            pad=True,
        )
        blocks = self.padded // unit.lanes
        # Other layers read y while they compute, and odd sizes have no whole vectors.
        direct = first and spec.hidden_size == self.padded
        lines = -(-inputs // (LINE * blocks))
        with ir.serial(spec.length) as step:
            now = tirx.floormod(step, 2)
            with ir.serial(blocks) as block:

                def output(row: Expr, h: Expr, step=step, now=now, block=block) -> None:
                    h = ir.Bind(h)
                    unit.store(state, h, 1 - now, row, block * unit.lanes)
                    if direct:
                        unit.store(arguments["y"], h, step, start + row, block * unit.lanes)

                def fetch(row: Expr, count: int, step=step, block=block) -> None:
                    """Every block fetches its share of the next step's rows."""
                    with ir.serial(lines) as line:
                        column = (block * lines + line) * LINE
                        for r in range(count):
                            unit.prefetch(source, step + 1, start + row + r, column, level=2)

                GateBlock(
                    unit=unit,
                    schedule=self.schedule,
                    rows=rows,
                    operands=(
                        Operand(inputs, lambda row, k: source[step, start + row, k]),
                        Operand(spec.hidden_size, lambda row, k: state[now, row, k]),
                    ),
                    weights=arguments["weights"],
                    weights_base=base + block * ((inputs + spec.hidden_size) * 4 * unit.lanes),
                    bias=arguments["bias"],
                    bias_base=layer * (4 * self.padded) + block * (4 * unit.lanes),
                    cell=cell,
                    column=block * unit.lanes,
                    output=output,
                    fetch=fetch,
                ).emit()
            if not direct:
                self._copy_rows(
                    rows,
                    lambda row, col: state[1 - now, row, col],
                    lambda row, col, value: ir.buffer_store(
                        arguments["y"], value, [step, start + row, col]
                    ),
                )
        self._copy_rows(
            rows,
            lambda row, col: state[spec.length % 2, row, col],
            lambda row, col, value: ir.buffer_store(
                arguments["h"], value, [layer, start + row, col]
            ),
        )
        self._copy_rows(
            rows,
            lambda row, col: cell[row, col],
            lambda row, col, value: ir.buffer_store(
                arguments["c"], value, [layer, start + row, col]
            ),
        )

    def _copy_rows(
        self,
        rows: int,
        load: Callable[[Expr, Expr], Expr],
        store: Callable[[Expr, Expr, Expr], None],
        pad: bool = False,
    ) -> None:
        """Copy rows of `hidden_size` values; with `pad`, fill up to whole vectors by zeros."""
        lanes, hidden = self.unit.lanes, self.spec.hidden_size
        whole = hidden // lanes
        with ir.serial(rows) as row:
            if whole:
                with ir.serial(whole) as block:
                    column = tirx.Ramp(block * lanes, 1, lanes)
                    store(row, column, load(row, column))
            for column in range(whole * lanes, hidden):
                store(row, tirx.IntImm("int32", column), load(row, tirx.IntImm("int32", column)))
            if pad:
                for column in range(hidden, self.padded):
                    store(row, tirx.IntImm("int32", column), tirx.FloatImm("float32", 0.0))
