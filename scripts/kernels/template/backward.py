"""Backward through time: the gradients of the sums, of x and of the initial states, for a panel of rows."""

# ruff: noqa: B023 (functions are called where they are made: they emit code)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from recurrent_cells.cells.derivative import gradient_name
from recurrent_cells.cells.language import computed, is_constant

from .blocking import unrolled
from .gates import Inputs
from .layout import LINE, taking
from .phases import PhasedUpdate
from .tiles import Registers, accumulate, in_tiles, integer, reduction, registers
from .trained_layer import TrainedLayer
from .units import one_region, phase, shared

Expr = Any


@dataclass
class BackwardPanel:
    """Emits the backward pass of some rows: all steps, last to first."""

    layer: TrainedLayer
    a: dict[str, Expr]
    start: Expr
    rows: int
    _phased: PhasedUpdate | None = None
    _vectors: Expr = None

    def emit(self) -> None:
        """All steps of a panel."""
        layer, a, unit = self.layer, self.a, self.layer.unit
        own = self._own(lambda *shape: ir.alloc_buffer(shape, "float32", align=64))
        self._phased = layer.phased_backward(self.rows) if layer.cell.norms else None
        if self._phased:
            self._phased.allocate()
        with ir.serial(layer.spec.length) as reverse:
            step = layer.spec.length - 1 - reverse
            self._updates(step, reverse == 0, own)
            self._plain(
                "input", True, layer.width, step, lambda r, c, s: unit.store(a["dx"], s, step, r, c)
            )
        self._leave(own)

    def emit_divided(self) -> None:
        """All rows, the units divided among the cores (see units). Nothing waits for the gradients of x: they are one
        product over all steps."""
        layer, a, unit = self.layer, self.a, self.layer.unit
        length, batch = layer.spec.length, layer.spec.batch
        own = self._own(shared)
        with one_region(), ir.serial(length) as reverse:
            self._updates(length - 1 - reverse, reverse == 0, own)

        def store(row: Expr, column: Expr, value: Expr) -> None:
            place = tirx.floordiv(row, batch), tirx.floormod(row, batch), column
            unit.store(a["dx"], value, *place)

        self._plain("input", True, layer.width, integer(0), store, steps=length)
        self._leave(own)

    def _own(self, allocate: Callable[..., Expr]) -> dict[str, Expr]:
        """Gradients of states on their way back, from those of the final ones; those of vectors begin with zero."""
        layer, a, unit = self.layer, self.a, self.layer.unit
        output, *inner = layer.cell.states
        direct = not is_constant(layer.backward.gradients[output])
        names = [*inner, *([output] if direct else [])]
        own = {name: allocate(self.rows, layer.hidden) for name in names}
        for name in names:
            given = a[gradient_name(name)]
            layer.copy(
                self.rows,
                # Of the last h, the gradient comes with the first sums.
                lambda r, c, name=name, given=given: (
                    unit.splat(0.0) if name == output else unit.load(given, self.start + r, c)
                ),
                lambda r, c, v, name=name: unit.store(own[name], v, r, c),
            )
        if layer.cell.vectors:
            self._vectors = allocate(len(layer.cell.vectors), layer.hidden)
            for one in range(len(layer.cell.vectors)):
                with ir.serial(layer.blocks) as block:
                    unit.store(self._vectors, unit.splat(0.0), one, block * layer.lanes)
        return own

    def _leave(self, own: dict[str, Expr]) -> None:
        """The gradients of the initial states, and the panel's share of those of the vectors."""
        layer, a, unit = self.layer, self.a, self.layer.unit
        output, *inner = layer.cell.states
        d_h = a[gradient_name(output)]

        def initial(row: Expr, column: Expr, value: Expr) -> None:
            if output in own:
                value = value + unit.load(own[output], row - self.start, column)
            unit.store(d_h, value, row, column)

        self._plain("recurrent", False, layer.hidden, integer(0), initial)
        for name in inner:
            layer.copy(
                self.rows,
                lambda r, c, name=name: unit.load(own[name], r, c),
                lambda r, c, v, name=name: unit.store(a[gradient_name(name)], v, self.start + r, c),
            )
        if layer.cell.vectors:
            panel = self._panel_number()
            for one in range(len(layer.cell.vectors)):
                with ir.serial(layer.blocks) as block:
                    value = unit.load(self._vectors, one, block * layer.lanes)
                    unit.store(a["part_vectors"], value, panel, one, block * layer.lanes)

    def _panel_number(self) -> Expr:
        """The panel that begins at `start`: larger ones come first (see parallel_panels)."""
        size, extra = divmod(self.layer.spec.batch, self.layer.panels)
        if not extra:
            return tirx.floordiv(self.start, size)
        if self.rows == size + 1:
            return tirx.floordiv(self.start, size + 1)
        return tirx.floordiv(self.start - extra, size)

    def _product(
        self,
        row: Expr,
        size: int,
        wide: int,
        part: Expr,
        name: str,
        is_x: bool,
        step: Expr,
        extent: Expr,
        begin: Callable[[int, int], Expr],
        during: Callable[[Expr], None] | None = None,
    ) -> Registers:
        """Sums over all gates of a step: their gradients times transposed weights, from vector `part` on.

        Where units are divided, rows go on into the following steps.
        during(block) may emit prefetches for what follows the product.
        """
        layer, unit, lanes = self.layer, self.layer.unit, self.layer.lanes
        own = taking(layer.cell, range(len(layer.cell.sums)), is_x)
        base = part * (lanes * layer.blocks * len(own) * lanes)
        sums = registers(unit, size, wide, begin)
        if not own:
            return sums

        def element(row: Expr, block: Expr, k: Expr) -> Expr:
            if not layer.divided:
                return self.a["gates"][step, block, self.start + row, k]
            at = step + tirx.floordiv(row, self.rows)
            return self.a["gates"][at, block, tirx.floormod(row, self.rows), k]

        with ir.serial(extent) as block:
            if during:
                during(block)
            reduction(
                len(own) * lanes,
                unrolled(unit.core, wide),
                lambda k: accumulate(
                    unit,
                    sums,
                    size,
                    range(wide),
                    lambda r: element(row + r, block, own.start * lanes + k),
                    lambda v: unit.load(
                        self.a[name],
                        base + (block * (len(own) * lanes) + k) * (wide * lanes) + v * lanes,
                    ),
                ),
            )
        return sums

    def _plain(
        self,
        name: str,
        is_x: bool,
        size: int,
        step: Expr,
        store: Callable[[Expr, Expr, Expr], None],
        steps: int = 1,
    ) -> None:
        """store(row, column, sums) of the product for all columns and the rows of `steps` steps."""
        layer, unit = self.layer, self.layer.unit
        for first, count, wide in layer.strips(size):
            with (ir.parallel if layer.divided else ir.serial)(count) as number:
                part = first + number * wide

                def body(row: Expr, high: int, _tile: Expr) -> None:
                    sums = self._product(
                        row,
                        high,
                        wide,
                        part,
                        name,
                        is_x,
                        step,
                        integer(layer.blocks),
                        lambda r, v: unit.splat(0.0),
                    )
                    for (r, v), register in sums.items():
                        store(
                            self.start + row + r, (part + v) * layer.lanes, unit.load(register, 0)
                        )

                in_tiles(steps * self.rows, layer.tall(wide), body)

    def _updates(self, step: Expr, at_end: Expr, own: dict[str, Expr]) -> None:
        """Gradients of all sums and old states of a step."""
        layer, a, unit, lanes = self.layer, self.a, self.layer.unit, self.layer.lanes
        d_output = a[gradient_name(layer.cell.states[0])]
        # A loop of no steps at the sequence's end saves a second copy of the tile's code.
        extent = tirx.Select(at_end, integer(0), integer(layer.blocks))
        for first, count, wide in layer.strips(layer.hidden):

            def tiles(number: Expr) -> None:
                part = first + number * wide

                def body(row: Expr, high: int, _tile: Expr) -> None:
                    def begin(r: int, v: int) -> Expr:
                        given = unit.load(d_output, self.start + row + r, (part + v) * lanes)
                        return tirx.Select(at_end, given, unit.splat(0.0))

                    sums = self._product(
                        row,
                        high,
                        wide,
                        part,
                        "recurrent",
                        False,
                        step + 1,
                        extent,
                        begin,
                        lambda block: self._fetch(block, step, row, high, part, wide),
                    )
                    for v in range(wide):
                        for r in range(high):
                            column = (part + v) * lanes
                            given = unit.load(a["dy"], step, self.start + row + r, column)
                            value = unit.load(sums[r, v], 0) + given
                            self._update(value, step, part + v, row + r, own)

                in_tiles(self.rows, layer.tall(wide), body)

            if layer.divided:
                phase(count, tiles)
            else:
                with ir.serial(count) as number:
                    tiles(number)
        if self._phased:
            self._phased.emit(
                lambda row, name, column: self._load(step, row, name, column, own),
                lambda row, name, value, column: self._store(step, row, name, value, column, own),
            )

    def _fetch(self, block: Expr, step: Expr, row: Expr, high: int, part: Expr, wide: int) -> None:
        """A share of the values that this tile's update reads: they lie in memory."""
        layer, a, unit = self.layer, self.a, self.layer.unit
        share = -(-high // layer.blocks)
        saved = [a["gates"], *([a["kept"]] if "kept" in a else [])]
        # A loop over rows with constant lines inside: one over both is unrolled, and its addresses spill vectors.
        with ir.If(block * share < high), ir.Then(), ir.serial(share) as p:
            at = self.start + row + block * share + p
            for v in range(wide):
                for buffer in saved:
                    for line in range(0, int(buffer.shape[-1]), LINE):
                        unit.prefetch(buffer, step, part + v, at, integer(line), level=1)
                unit.prefetch(a["dy"], step, at, (part + v) * layer.lanes, level=1)

    def _update(
        self,
        flowing: Expr,
        step: Expr,
        block: Expr,
        row: Expr,
        own: dict[str, Expr],
    ) -> None:
        """One vector of one row: from the gradients of the new states to those of sums and old states.

        flowing: that of the output, but for what flows to it within its unit.
        """
        layer, unit = self.layer, self.layer.unit
        cell, column = layer.cell, block * layer.lanes
        output, d_output = cell.states[0], gradient_name(cell.states[0])
        if output in own:
            flowing = flowing + unit.load(own[output], row, column)
        if self._phased:
            self._phased.put(row, d_output, flowing, column)
            return

        def load(name: str) -> Expr:
            return flowing if name == d_output else self._load(step, row, name, column, own)

        gradients = layer.backward.gradients
        wanted = [*(one.name for one in cell.sums), *own, *cell.vectors]
        values = computed([gradients[name] for name in wanted], Inputs(load), unit.operations)
        for name, value in zip(wanted, values, strict=True):
            self._store(step, row, name, value, column, own)

    def _load(self, step: Expr, row: Expr, name: str, column: Expr, own: dict[str, Expr]) -> Expr:
        """What an update reads but the output's gradient."""
        layer, a, unit = self.layer, self.a, self.layer.unit
        cell = layer.cell
        if name in cell.vectors:
            return unit.load(a["vectors"], cell.vectors.index(name) * layer.hidden + column)
        for state in cell.states[1:]:
            if name == gradient_name(state):
                return unit.load(own[state], row, column)
        if name in layer.backward.inverses:
            number = list(layer.backward.inverses).index(name)
            return unit.splat(a["inverse"][step, self.start + row, number])
        buffer, place = layer.place(a, name)
        block = tirx.floordiv(column, layer.lanes)
        return unit.load(buffer, step, block, self.start + row, integer(place))

    def _store(
        self,
        step: Expr,
        row: Expr,
        name: str,
        value: Expr,
        column: Expr,
        own: dict[str, Expr],
    ) -> None:
        layer, a, unit = self.layer, self.a, self.layer.unit
        cell = layer.cell
        if name in own:
            unit.store(own[name], value, row, column)
        elif name in cell.vectors:
            place = cell.vectors.index(name)
            total = unit.load(self._vectors, place, column) + value
            unit.store(self._vectors, total, place, column)
        elif name not in cell.states:
            place = [one.name for one in cell.sums].index(name) * layer.lanes
            if layer.hidden > layer.spec.hidden_size and not layer.defined:
                # Products run over the units that pad, too, where 0 / 0 may have been computed.
                units = tirx.Ramp(column, integer(1), layer.lanes)
                real = units < unit.splat(integer(layer.spec.hidden_size))
                value = tirx.Select(real, value, unit.splat(0.0))
            block = tirx.floordiv(column, layer.lanes)
            unit.store(a["gates"], value, step, block, self.start + row, integer(place))
