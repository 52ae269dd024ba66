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
from functools import cached_property, partial
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from ..cells.derivative import Backward, backward, gradient_name
from ..cells.language import Cell
from ..cells.phases import backward_phases, forward_phases
from ..cells.simplify import Stage, lowered, stages
from ..spec import KernelSpec, Schedule
from .backward import BackwardPanel
from .gates import GateBlock, Operand
from .gradients import emit_gradients
from .layout import LINE, block_vectors, whole_lines
from .packing import emit_packing
from .phases import PhasedUpdate
from .projection import emit_product
from .tiles import Functions, Registers, Shapes, integer, panel_count, parallel_panels
from .vector import VectorUnit

Expr = Any


@dataclass(frozen=True)
class TrainedLayer:
    """One layer to be trained: its cell, shape and schedule.

    inputs: its input size; width: of a row of its input in memory, in whole lines; registers: of the machine.
    """

    cell: Cell
    spec: KernelSpec
    schedule: Schedule
    unit: VectorUnit
    registers: int
    inputs: int
    width: int

    @cached_property
    def backward(self) -> Backward:
        """What forward keeps and how backward uses it."""
        return backward(self.cell)

    @cached_property
    def kept(self) -> list[str]:
        """The names of what is kept, in the order of its places."""
        return list(self.backward.kept)

    @cached_property
    def stages(self) -> list[Stage] | None:
        """Forward's update; none where it has phases."""
        return None if self.cell.norms else stages(self.cell, self.backward.kept)

    def phased_forward(self, rows: int) -> PhasedUpdate:
        """Forward's update in phases."""
        return PhasedUpdate(
            self.unit,
            self.cell,
            forward_phases(self.cell, {**self.cell.outputs, **self.backward.kept}),
            lambda wanted: lowered(self.cell, wanted, single=True),
            tuple(one.name for one in self.cell.sums),
            rows,
            self.spec.hidden_size,
            self.blocks,
        )

    def phased_backward(self, rows: int) -> PhasedUpdate:
        """Backward's: from the gradient of the output, of all units."""
        return PhasedUpdate(
            self.unit,
            self.cell,
            backward_phases(self.cell, self.backward),
            lambda wanted: [Stage(None, wanted)],
            (gradient_name(self.cell.states[0]),),
            rows,
            self.spec.hidden_size,
            self.blocks,
        )

    @property
    def lanes(self) -> int:
        """Values of a vector."""
        return self.unit.lanes

    @property
    def hidden(self) -> int:
        """Hidden units in whole lines."""
        return whole_lines(self.spec.hidden_size)

    @property
    def outputs(self) -> int:
        """Values of the output in whole lines."""
        return whole_lines(self.spec.output_size)

    @property
    def blocks(self) -> int:
        """Vectors of hidden units."""
        return self.hidden // self.lanes

    @property
    def columns(self) -> int:
        """Vectors of the tile of a product with transposed weights, at most."""
        return 4 if self.registers == 32 else 2

    def tall(self, columns: int) -> int:
        """Rows of that tile. With 2 columns, 12 rows spill together with the prefetches: 8 take 20 % less."""
        if self.registers == 32:
            return {4: 6, 3: 8, 2: 8, 1: 16}[columns]
        return {2: 5, 1: 10}[columns]

    @property
    def panels(self) -> int:
        """Panels of rows."""
        return panel_count(self.spec.batch, self.schedule.panel_rows, self.spec.threads)

    def shapes(self) -> dict[str, Shapes]:
        """Arguments of the functions by name: {function: {argument: shape}}, all float32."""
        cell, spec = self.cell, self.spec
        steps, batch, hidden = spec.length, spec.batch, self.hidden
        gates, sums = len(cell.gates), len(cell.sums)
        extra = len(self.kept) - sums
        saved: Shapes = {"gates": (steps, self.blocks, batch, sums * self.lanes)}
        if extra > 0:
            saved["kept"] = (steps, self.blocks, batch, extra * self.lanes)
        if cell.norms:
            saved["inverse"] = (steps, batch, whole_lines(len(cell.norms)))
        vectors: Shapes = {"vectors": (len(cell.vectors) * hidden,)} if cell.vectors else {}
        packed: Shapes = {
            "weights": (hidden * block_vectors(cell, self.inputs, spec.output_size),),
            "bias": (sums * hidden,),
        }
        recurrent: Shapes = {"recurrent": (self.outputs * cell.h_sums * hidden,)}
        turned: Shapes = {"input": (self.width * cell.x_sums * hidden,), **recurrent}
        trained: Shapes = {
            "w_input": (self.inputs, gates * spec.hidden_size),
            "w_recurrent": (spec.output_size, gates * spec.hidden_size),
            "w_bias": (sums * spec.hidden_size,),
        }
        if cell.vectors:
            trained["w_vectors"] = (len(cell.vectors), spec.hidden_size)
        # Of a projected output: the matrix as it is multiplied by and turned, what was projected, its gradient.
        projection: Shapes = {}
        turned_back: Shapes = {}
        made: Shapes = {}
        d_states: Shapes = {}
        d_projection: Shapes = {}
        if cell.projected:
            trained["w_projection"] = (spec.hidden_size, spec.output_size)
            projection["projection"] = (self.outputs * spec.hidden_size,)
            turned_back["turned"] = (hidden * spec.output_size,)
            made["made"] = (steps, batch, hidden)
            d_states["d_states"] = (steps, batch, self.outputs)
            d_projection["d_projection"] = (spec.hidden_size, self.outputs)
        sequence: Shapes = {
            "x": (steps, batch, self.width),
            "states": (steps + 1, batch, self.outputs),
        }
        partial: Shapes = {}
        summed: Shapes = {}
        if cell.vectors:
            partial["part_vectors"] = (self.panels, len(cell.vectors), hidden)
            summed["d_vectors"] = (len(cell.vectors), hidden)
        inner: Shapes = {name: (batch, hidden) for name in cell.states[1:]}
        return {
            "pack": {**trained, **packed, **vectors, **turned, **projection, **turned_back},
            "forward": {**sequence, **packed, **vectors, **projection, **inner, **saved, **made},
            "backward": {
                **saved,
                **vectors,
                **turned,
                **turned_back,
                "dy": (steps, batch, self.outputs),
                "dx": (steps, batch, self.width),
                gradient_name(cell.states[0]): (batch, self.outputs),
                **{gradient_name(name): (batch, hidden) for name in cell.states[1:]},
                **partial,
                **d_states,
            },
            "gradients": {
                **sequence,
                "gates": saved["gates"],
                "d_input": (self.inputs, gates, hidden),
                "d_recurrent": (spec.output_size, gates, hidden),
                "d_bias": (sums, hidden),
                **partial,
                **summed,
                **made,
                **d_states,
                **d_projection,
            },
        }

    def add(self, functions: Functions, suffix: str) -> None:
        """Add the four functions, their names ending in `suffix`."""
        emitters = {
            "pack": lambda arguments: emit_packing(self, arguments),
            "forward": self._forward,
            "backward": self._backward,
            "gradients": lambda arguments: emit_gradients(self, arguments),
        }
        for name, shapes in self.shapes().items():
            with functions.function(name + suffix, shapes) as arguments:
                emitters[name](arguments)

    def place(self, arguments: dict[str, Expr], name: str) -> tuple[Expr, int]:
        """The array and the first column of a kept value."""
        sums, place = len(self.cell.sums), self.kept.index(name)
        if place < sums:
            return arguments["gates"], place * self.lanes
        return arguments["kept"], (place - sums) * self.lanes

    def _forward(self, a: dict[str, Expr]) -> None:
        parallel_panels(
            self.spec.batch,
            self.schedule.panel_rows,
            self.spec.threads,
            lambda start, rows: self._forward_panel(a, start, rows),
        )

    def _forward_panel(self, a: dict[str, Expr], start: Expr, rows: int) -> None:
        cell, spec, unit, lanes = self.cell, self.spec, self.unit, self.lanes
        memory = {
            name: ir.alloc_buffer((rows, self.hidden), "float32", align=64)
            for name in cell.states[1:]
        }
        for name, buffer in memory.items():
            self.copy(
                rows,
                lambda r, c, name=name: unit.load(a[name], start + r, c),
                lambda r, c, v, buffer=buffer: unit.store(buffer, v, r, c),
            )
        phased = None
        if cell.norms:
            phased = self.phased_forward(rows)
            phased.allocate()
        with ir.serial(spec.length) as step:

            def load(row: Expr, name: str, column: Expr) -> Expr:
                if name == cell.states[0]:
                    return unit.load(a["states"], step, start + row, column)
                if name in memory:
                    return unit.load(memory[name], row, column)
                return unit.load(a["vectors"], cell.vectors.index(name) * self.hidden + column)

            def store(row: Expr, name: str, value: Expr, column: Expr) -> None:
                if name == cell.states[0]:
                    if cell.projected:
                        unit.store(a["made"], value, step, start + row, column)
                    else:
                        unit.store(a["states"], value, step + 1, start + row, column)
                elif name in memory:
                    unit.store(memory[name], value, row, column)
                else:
                    buffer, place = self.place(a, name)
                    block = tirx.floordiv(column, lanes)
                    unit.store(buffer, value, step, block, start + row, integer(place))

            with ir.serial(self.blocks) as block:
                self._forward_block(
                    a, step, block, start, rows, load, phased.put if phased else store
                )
            if phased:
                phased.emit(
                    load,
                    store,
                    lambda row, number, value: ir.buffer_store(
                        a["inverse"], value, [step, start + row, integer(number)]
                    ),
                )
            if cell.projected:
                self._project(a, step, start, rows)
        for name, buffer in memory.items():
            self.copy(
                rows,
                lambda r, c, buffer=buffer: unit.load(buffer, r, c),
                lambda r, c, v, name=name: unit.store(a[name], v, start + r, c),
            )

    def _project(self, a: dict[str, Expr], step: Expr, start: Expr, rows: int) -> None:
        """The output of a step, from what the update made."""
        unit, lanes = self.unit, self.lanes

        def store(sums: Registers, row: Expr, part: Expr, high: int, wide: int) -> None:
            for (r, v), register in sums.items():
                place = step + 1, start + row + r, (part + v) * lanes
                unit.store(a["states"], unit.load(register, 0), *place)

        emit_product(
            unit,
            rows,
            self.outputs // lanes,
            self.spec.hidden_size,
            self.tall,
            self.columns,
            lambda row, k: a["made"][step, start + row, k],
            a["projection"],
            integer(0),
            store,
        )

    def _forward_block(
        self,
        a: dict[str, Expr],
        step: Expr,
        block: Expr,
        start: Expr,
        rows: int,
        load: Callable[..., Expr],
        store: Callable[..., None],
    ) -> None:
        """The sums of one vector of units, and their update where it has one phase."""
        cell, spec, unit, lanes = self.cell, self.spec, self.unit, self.lanes
        lines = -(-self.inputs // (LINE * self.blocks))

        def fetch(row: Expr, count: int) -> None:
            """Every block fetches its share of the next step's rows."""
            with ir.serial(lines) as line:
                for r in range(count):
                    at = (block * lines + line) * LINE
                    unit.prefetch(a["x"], step + 1, start + row + r, at, level=2)

        GateBlock(
            unit=unit,
            schedule=self.schedule,
            cell=cell,
            stages=self.stages,
            rows=rows,
            operands=(
                Operand(True, self.inputs, lambda r, k: a["x"][step, start + r, k]),
                Operand(False, spec.output_size, lambda r, k: a["states"][step, start + r, k]),
            ),
            weights=a["weights"],
            weights_base=block * (block_vectors(cell, self.inputs, spec.output_size) * lanes),
            bias=a["bias"],
            bias_base=block * (len(cell.sums) * lanes),
            load=partial(load, column=block * lanes),
            store=partial(store, column=block * lanes),
            fetch=fetch,
        ).emit()

    def copy(
        self,
        rows: int,
        load: Callable[[Expr, Expr], Expr],
        store: Callable[[Expr, Expr, Expr], None],
    ) -> None:
        """Copy whole vectors of units."""
        with ir.serial(rows) as row, ir.serial(self.blocks) as block:
            store(row, block * self.lanes, load(row, block * self.lanes))

    def _backward(self, a: dict[str, Expr]) -> None:
        parallel_panels(
            self.spec.batch,
            self.schedule.panel_rows,
            self.spec.threads,
            lambda start, rows: BackwardPanel(self, a, start, rows).emit(),
        )
