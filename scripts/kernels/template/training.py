"""Training of one layer, as functions that share buffers: pack, forward, backward, gradients.

    pack       weights as they are trained to the orders of the others; counted, as they change with every update
    forward    as the forward template, and keeps what backward multiplies by
    backward   through time: gradients of the sums, of x and of the initial states
    gradients  of the weights, bias and vectors: one product over all steps

`hidden` has T + 1 steps and begins with h0, so that what forward reads, its output and the h of the step before are
one array. `gates` [T, blocks, B, sums * lanes] and `kept` hold what `derivative` says to keep; backward puts the
sums' gradients where the first of these were, so that a pass cannot be gone backward twice. A core takes its rows
of the batch through all steps, forward and backward, and waits for no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from .backward import BackwardPanel
from .gates import GateBlock, Operand
from .gradients import emit_gradients
from .layout import LINE, block_vectors
from .packing import emit_packing
from .tiles import Functions, integer, parallel_panels
from .trained_layer import TrainedLayer
from .units import emit_input_sums, one_region, phase

Expr = Any


def add_training(functions: Functions, layer: TrainedLayer, suffix: str) -> None:
    """Add the four functions of a layer, their names ending in `suffix`."""

    def panels(way: type[ForwardPanel] | type[BackwardPanel]) -> Callable[..., None]:
        def emit(layer: TrainedLayer, a: dict[str, Expr]) -> None:
            if layer.divided:
                way(layer, a, integer(0), layer.spec.batch).emit_divided()
                return
            parallel_panels(
                layer.spec.batch,
                layer.schedule.panel_rows,
                layer.spec.threads,
                lambda start, rows: way(layer, a, start, rows).emit(),
            )

        return emit

    emitters = {
        "pack": emit_packing,
        "forward": panels(ForwardPanel),
        "backward": panels(BackwardPanel),
        "gradients": emit_gradients,
    }
    for name, shapes in layer.shapes().items():
        with functions.function(name + suffix, shapes) as arguments:
            emitters[name](layer, arguments)


@dataclass
class ForwardPanel:
    """Emits the forward pass of some rows: all steps."""

    layer: TrainedLayer
    a: dict[str, Expr]
    start: Expr
    rows: int

    def emit(self) -> None:
        """All steps of a panel; its states but the output wait in scratch."""
        layer, a, start, rows = self.layer, self.a, self.start, self.rows
        cell, unit = layer.cell, layer.unit
        memory = {
            name: ir.alloc_buffer((rows, layer.hidden), "float32", align=64)
            for name in cell.states[1:]
        }
        for name, buffer in memory.items():
            layer.copy(
                rows,
                lambda r, c, name=name: unit.load(a[name], start + r, c),
                lambda r, c, v, buffer=buffer: unit.store(buffer, v, r, c),
            )
        phased = None
        if cell.norms:
            phased = layer.phased_forward(rows)
            phased.allocate()
        with ir.serial(layer.spec.length) as step:
            load, store = partial(self._load, step, memory), partial(self._store, step, memory)
            with ir.serial(layer.blocks) as block:
                self._block(step, block, load, phased.put if phased else store)
            if phased:
                phased.emit(
                    load,
                    store,
                    lambda row, number, value: ir.buffer_store(
                        a["inverse"], value, [step, start + row, integer(number)]
                    ),
                )
        for name, buffer in memory.items():
            layer.copy(
                rows,
                lambda r, c, buffer=buffer: unit.load(buffer, r, c),
                lambda r, c, v, name=name: unit.store(a[name], v, start + r, c),
            )

    def emit_divided(self) -> None:
        """All rows, the units divided among the cores (see units). The parts of the sums that come from x wait where
        what is kept of them will be."""
        layer, a, unit, lanes = self.layer, self.a, self.layer.unit, self.layer.lanes
        cell, spec = layer.cell, layer.spec

        def split(row: Expr) -> tuple[Expr, Expr]:
            return tirx.floordiv(row, spec.batch), tirx.floormod(row, spec.batch)

        with ir.parallel(layer.blocks) as block:

            def put(row: Expr, one: int, value: Expr) -> None:
                step, own = split(row)
                unit.store(a["gates"], value, step, block, own, integer(one * lanes))

            emit_input_sums(
                unit,
                cell,
                layer.schedule,
                spec.length * spec.batch,
                layer.inputs,
                spec.hidden_size,
                lambda row, k: a["x"][(*split(row), k)],
                a["weights"],
                block * (block_vectors(cell, layer.inputs, spec.hidden_size) * lanes),
                lambda one: unit.load(a["bias"], (block * len(cell.sums) + one) * lanes),
                put,
            )
        memory = {name: a[name] for name in cell.states[1:]}
        with one_region(), ir.serial(spec.length) as step:
            load, store = partial(self._load, step, memory), partial(self._store, step, memory)
            phase(layer.blocks, lambda block: self._block(step, block, load, store))

    def _load(
        self, step: Expr, memory: dict[str, Expr], row: Expr, name: str, column: Expr
    ) -> Expr:
        """What the update of a step reads but the sums; memory: the states but the output."""
        layer, a, unit = self.layer, self.a, self.layer.unit
        if name == layer.cell.states[0]:
            return unit.load(a["states"], step, self.start + row, column)
        if name in memory:
            return unit.load(memory[name], row, column)
        return unit.load(a["vectors"], layer.cell.vectors.index(name) * layer.hidden + column)

    def _store(
        self,
        step: Expr,
        memory: dict[str, Expr],
        row: Expr,
        name: str,
        value: Expr,
        column: Expr,
    ) -> None:
        """New states, and what is kept."""
        layer, a, unit = self.layer, self.a, self.layer.unit
        row_of_all = self.start + row
        if name == layer.cell.states[0]:
            unit.store(a["states"], value, step + 1, row_of_all, column)
        elif name in memory:
            unit.store(memory[name], value, row, column)
        else:
            buffer, place = layer.place(a, name)
            block = tirx.floordiv(column, layer.lanes)
            unit.store(buffer, value, step, block, row_of_all, integer(place))

    def _block(
        self, step: Expr, block: Expr, load: Callable[..., Expr], store: Callable[..., None]
    ) -> None:
        """The sums of one vector of units, and their update where it has one phase."""
        layer, a, start, unit = self.layer, self.a, self.start, self.layer.unit
        cell, spec, lanes = layer.cell, layer.spec, layer.lanes
        lines = -(-layer.inputs // (LINE * layer.blocks))

        def fetch(row: Expr, count: int) -> None:
            """Every block fetches its share of the next step's rows."""
            with ir.serial(lines) as line:
                for r in range(count):
                    at = (block * lines + line) * LINE
                    unit.prefetch(a["x"], step + 1, start + row + r, at, level=2)

        sums = len(cell.sums)
        operands = (
            Operand(
                True,
                layer.inputs,
                None if layer.divided else lambda r, k: a["x"][step, start + r, k],
            ),
            Operand(False, spec.hidden_size, lambda r, k: a["states"][step, start + r, k]),
        )

        def before(row: Expr, one: int) -> Expr:
            if cell.sums[one].x:
                return unit.load(a["gates"], step, block, row, integer(one * lanes))
            return unit.load(a["bias"], (block * sums + one) * lanes)

        GateBlock(
            unit=unit,
            schedule=layer.schedule,
            cell=cell,
            stages=layer.stages,
            rows=self.rows,
            operands=operands,
            weights=a["weights"],
            weights_base=block * (block_vectors(cell, layer.inputs, spec.hidden_size) * lanes),
            bias=a["bias"],
            bias_base=block * (sums * lanes),
            load=partial(load, column=block * lanes),
            store=partial(store, column=block * lanes),
            fetch=(lambda row, count: None) if layer.divided else fetch,
            before=before if layer.divided else None,
        ).emit()
