"""One layer to be trained: what is kept of it, and where everything lies. All functions of training share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tvm.tirx.script import builder as ir

from recurrent_cells.cells.derivative import Backward, backward, gradient_name
from recurrent_cells.cells.language import Cell, in_order
from recurrent_cells.cells.phases import backward_phases, forward_phases
from recurrent_cells.cells.simplify import Stage, lowered, stages

from ..spec import KernelSpec, Schedule
from .blocking import squarest, tallest
from .layout import block_vectors, whole_lines
from .phases import PhasedUpdate
from .tiles import Shapes, panel_count, tile_rows
from .units import divisible
from .vector import VectorUnit

Expr = Any


SAFE = {
    *("input", "constant", "add", "subtract", "multiply", "sigmoid", "tanh", "maximum", "minimum"),
    *("at_least", "where", "absolute", "sign", "norm", "sin", "cos", "softplus"),
}
"""Operations that give a finite value, and a finite derivative, of whatever is not too large."""


@dataclass(frozen=True)
class TrainedLayer:
    """One layer to be trained: its cell, shape and schedule.

    inputs: its input size; width: of a row of its input in memory, in whole lines.
    """

    cell: Cell
    spec: KernelSpec
    schedule: Schedule
    unit: VectorUnit
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

    @cached_property
    def defined(self) -> bool:
        """Whether the update has a finite value whatever units it is of: those that pad hold nothing but zeros."""
        found = {one.operation for one in in_order(self.cell.outputs.values())}
        return found <= SAFE

    @property
    def lanes(self) -> int:
        """Values of a vector."""
        return self.unit.lanes

    @property
    def hidden(self) -> int:
        """Hidden units in whole lines."""
        return whole_lines(self.spec.hidden_size)

    @property
    def blocks(self) -> int:
        """Vectors of hidden units."""
        return self.hidden // self.lanes

    @property
    def divided(self) -> bool:
        """Whether hidden units, and not rows, are divided among the cores."""
        can = divisible(self.cell, self.spec, self.lanes)
        return bool(self.schedule.units) and can

    def columns(self, vectors: int) -> int:
        """Vectors of the tile of a product with transposed weights that has so many, at most.

        Where the cores share them: as many as leave all rows in one tile and the same to every core.
        """
        most = squarest(self.unit.core)
        if not self.divided:
            return most
        rows, threads = self.spec.batch, self.spec.threads
        own = [n for n in range(1, most + 1) if vectors % (n * threads) == 0]
        return max((n for n in own if self.tall(n) >= rows), default=1)

    def strips(self, size: int) -> list[tuple[int, int, int]]:
        """The vectors of `size` values in tiles: (first, tiles, vectors of each)."""
        return tile_rows(size // self.lanes, self.columns(size // self.lanes))

    def tall(self, columns: int) -> int:
        """Rows of that tile."""
        return tallest(self.unit.core, columns)

    @property
    def panels(self) -> int:
        """Panels of rows."""
        if self.divided:
            return 1
        return panel_count(self.spec.batch, self.schedule.panel_rows, self.spec.threads)

    def shapes(self) -> dict[str, Shapes]:
        """Arguments of the functions by name: {function: {argument: shape}}, all float32."""
        cell, spec = self.cell, self.spec
        steps, batch, hidden = spec.length, spec.batch, self.hidden
        sums = len(cell.sums)
        extra = len(self.kept) - sums
        saved: Shapes = {"gates": (steps, self.blocks, batch, sums * self.lanes)}
        if extra > 0:
            saved["kept"] = (steps, self.blocks, batch, extra * self.lanes)
        if cell.norms:
            saved["inverse"] = (steps, batch, whole_lines(len(cell.norms)))
        vectors: Shapes = {"vectors": (len(cell.vectors) * hidden,)} if cell.vectors else {}
        packed: Shapes = {
            "weights": (hidden * block_vectors(cell, self.inputs, spec.hidden_size),),
            "bias": (sums * hidden,),
        }
        recurrent: Shapes = {"recurrent": (self.hidden * cell.h_sums * hidden,)}
        turned: Shapes = {"input": (self.width * cell.x_sums * hidden,), **recurrent}
        trained: Shapes = {
            "w_input": (self.inputs, len(cell.x_gates) * spec.hidden_size),
            "w_recurrent": (spec.hidden_size, len(cell.h_gates) * spec.hidden_size),
            "w_bias": (sums * spec.hidden_size,),
        }
        if cell.vectors:
            trained["w_vectors"] = (len(cell.vectors), spec.hidden_size)
        sequence: Shapes = {
            "x": (steps, batch, self.width),
            "states": (steps + 1, batch, self.hidden),
        }
        partial: Shapes = {}
        summed: Shapes = {}
        if cell.vectors:
            partial["part_vectors"] = (self.panels, len(cell.vectors), hidden)
            summed["d_vectors"] = (len(cell.vectors), hidden)
        inner: Shapes = {name: (batch, hidden) for name in cell.states[1:]}
        found: dict[str, Shapes] = {
            "pack": {**trained, **packed, **vectors, **turned},
            "forward": {**sequence, **packed, **vectors, **inner, **saved},
            "backward": {
                **saved,
                **vectors,
                **turned,
                "dy": (steps, batch, self.hidden),
                "dx": (steps, batch, self.width),
                gradient_name(cell.states[0]): (batch, self.hidden),
                **{gradient_name(name): (batch, hidden) for name in cell.states[1:]},
                **partial,
            },
            "gradients": {
                **sequence,
                "gates": saved["gates"],
                "d_input": (self.inputs, len(cell.x_gates), hidden),
                "d_recurrent": (spec.hidden_size, len(cell.h_gates), hidden),
                "d_bias": (sums, hidden),
                **partial,
                **summed,
            },
        }
        # Of no gate of h there is no matrix.
        return {
            name: {key: shape for key, shape in own.items() if 0 not in shape}
            for name, own in found.items()
        }

    def place(self, arguments: dict[str, Expr], name: str) -> tuple[Expr, int]:
        """The array and the first column of a kept value."""
        sums, place = len(self.cell.sums), self.kept.index(name)
        if place < sums:
            return arguments["gates"], place * self.lanes
        return arguments["kept"], (place - sums) * self.lanes

    def copy(
        self,
        rows: int,
        load: Callable[[Expr, Expr], Expr],
        store: Callable[[Expr, Expr, Expr], None],
    ) -> None:
        """Copy whole vectors of units."""
        with ir.serial(rows) as row, ir.serial(self.blocks) as block:
            store(row, block * self.lanes, load(row, block * self.lanes))
