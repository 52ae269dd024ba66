"""The template's inner part: four gates of one vector of hidden units for a panel of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from ..spec import Schedule
from .cell import gated_input, new_cell, new_cell_with_input, new_hidden
from .vector import VectorUnit

Expr = Any
Registers = dict[tuple[int, int], Expr]


@dataclass(frozen=True)
class Operand:
    """One factor of the gate sums: its reduction length and element(row of the panel, k)."""

    length: int
    element: Callable[[Expr, Expr], Expr]


def tile_rows(rows: int, tile: int) -> list[tuple[int, int, int]]:
    """Cut `rows` into tiles of at most `tile` rows, as equal as possible.

    Returns (first row, tiles, rows of each) for at most two tile sizes.
    """
    tiles = -(-rows // tile)
    size, larger = divmod(rows, tiles)
    groups = []
    if larger:
        groups.append((0, larger, size + 1))
    groups.append((larger * (size + 1), tiles - larger, size))
    return groups


@dataclass(frozen=True)
class GateBlock:
    """Emits gate sums and state update of `lanes` hidden units, for all rows of a panel.

    weights[weights_base + ((pass * length + k) * gates + gate) * lanes + lane], k running
    through all operands (length in all), is what `weights.pack_weights` makes;
    bias[bias_base + (pass * gates + gate) * lanes + lane] likewise. cell[row, column + lane] is
    updated in place; `output(row, h)` stores the new hidden values. `fetch(row, rows)` may emit
    prefetches of what the next time step reads; it is called once for every row.

    With 4 gates in one pass the tile is, on 32 registers, 6 rows x 4 vectors. With 2 gates it is
    12 rows x 2 vectors: each weight loaded serves twice the rows, so half the weights flow from
    the second-level cache, and a pass's panel of weights is half as large. The first pass
    leaves sigmoid(i) * tanh(g) for the second.
    """

    unit: VectorUnit
    schedule: Schedule
    rows: int
    operands: tuple[Operand, ...]
    weights: Expr
    weights_base: Expr
    bias: Expr
    bias_base: Expr
    cell: Expr
    column: Expr
    output: Callable[[Expr, Expr], None]
    fetch: Callable[[Expr, int], None]

    def emit(self) -> None:
        """Emit all passes."""
        gates, lanes = self.schedule.gates, self.unit.lanes
        length = sum(operand.length for operand in self.operands)
        input_part = None
        if gates == 2:
            input_part = ir.alloc_buffer((self.rows, lanes), "float32", align=64)
        for index in range(4 // gates):
            base = self.weights_base + index * length * gates * lanes
            emit = self._blocked if self.schedule.k_block else self._fused
            emit(index, base, length, input_part)

    def _fused(self, index: int, base: Expr, length: int, input_part: Expr | None) -> None:
        """Sums stay in registers over the whole reduction; the epilogue follows in place."""

        def body(row: Expr, size: int, tile: Expr) -> None:
            sums = self._registers(size, lambda _row, gate: self._bias(index, gate))
            offset = 0
            for operand in self.operands:
                self._multiply(
                    sums,
                    size,
                    operand.length,
                    lambda r, k, operand=operand: operand.element(row + r, k),
                    base + offset * self.schedule.gates * self.unit.lanes,
                    lambda k, offset=offset: (base, length, offset + k, tile),
                )
                offset += operand.length
            self._epilogue(
                index, row, size, lambda r, gate: self.unit.load(sums[r, gate], 0), input_part
            )

        self._tiles(self.schedule.rows, body)

    def _blocked(self, index: int, base: Expr, _length: int, input_part: Expr | None) -> None:
        """All rows pass over one block of weights, then over the next; sums wait in scratch."""
        gates, lanes, unit = self.schedule.gates, self.unit.lanes, self.unit
        scratch = ir.alloc_buffer((self.rows, gates * lanes), "float32", align=64)
        with ir.serial(self.rows) as row:
            for gate in range(gates):
                unit.store(scratch, self._bias(index, gate), row, gate * lanes)

        def block(start: Expr, length: int, operand: Operand, block_base: Expr) -> None:
            def body(row: Expr, size: int, tile: Expr) -> None:
                sums = self._registers(
                    size, lambda r, gate: unit.load(scratch, row + r, gate * lanes)
                )
                self._multiply(
                    sums,
                    size,
                    length,
                    lambda r, k: operand.element(row + r, start + k),
                    block_base,
                    lambda k: (block_base, length, k, tile),
                )
                for (r, gate), register in sums.items():
                    unit.store(scratch, unit.load(register, 0), row + r, gate * lanes)

            self._tiles(self.schedule.rows, body)

        offset = 0
        for operand in self.operands:
            size = min(self.schedule.k_block, operand.length)
            rest = operand.length % size
            with ir.serial(operand.length // size) as number:
                first = base + (offset + number * size) * gates * lanes
                block(number * size, size, operand, first)
            if rest:
                first = base + (offset + operand.length - rest) * gates * lanes
                block(operand.length - rest, rest, operand, first)
            offset += operand.length

        def epilogue(row: Expr, size: int, _tile: Expr) -> None:
            self._epilogue(
                index,
                row,
                size,
                lambda r, gate: unit.load(scratch, row + r, gate * lanes),
                input_part,
            )

        self._tiles(self.schedule.epilogue_rows, epilogue)

    def _tiles(self, tile: int, body: Callable[[Expr, int, Expr], None]) -> None:
        """Loop over tiles: body(first row, rows, number of the tile)."""
        for first, count, size in tile_rows(self.rows, tile):
            with ir.serial(count) as number:
                body(first + number * size, size, number)

    def _bias(self, index: int, gate: int) -> Expr:
        offset = (index * self.schedule.gates + gate) * self.unit.lanes
        return self.unit.load(self.bias, self.bias_base + offset)

    def _registers(self, rows: int, initial: Callable[[int, int], Expr]) -> Registers:
        """One buffer of one vector for each (row, gate): LLVM makes registers of them."""
        registers = {}
        for row in range(rows):
            for gate in range(self.schedule.gates):
                register = ir.alloc_buffer((self.unit.lanes,), "float32")
                self.unit.store(register, initial(row, gate), 0)
                registers[row, gate] = register
        return registers

    def _multiply(
        self,
        sums: Registers,
        rows: int,
        length: int,
        element: Callable[[int, Expr], Expr],
        base: Expr,
        ahead: Callable[[Expr], tuple[Expr, int, Expr, Expr]],
    ) -> None:
        """sums[row, gate] += element(row, k) * weights[base + (k * gates + gate) * lanes].

        `ahead(k)` says what to prefetch: (base, length) of the current block of weights, the
        position in it, and the number of the tile; each tile fetches a part of the next block.
        """
        unit, gates = self.unit, self.schedule.gates

        def step(k: Expr) -> None:
            for p in range(self.schedule.prefetch):
                block, extent, position, tile = ahead(k)
                part = tirx.floormod(tile * self.schedule.prefetch + p, gates)
                line = extent * gates + part * extent + position
                # Not into the first level, which the current block's weights and rows need.
                unit.prefetch(self.weights, block + line * unit.lanes, level=2)
            vectors = [
                ir.Bind(unit.load(self.weights, base + (k * gates + gate) * unit.lanes))
                for gate in range(gates)
            ]
            for row in range(rows):
                scalar = ir.Bind(unit.splat(element(row, k)))
                for gate in range(gates):
                    register = sums[row, gate]
                    unit.store(register, unit.load(register, 0) + scalar * vectors[gate], 0)

        unroll = min(self.schedule.unroll, length)
        with ir.serial(length // unroll) as group:
            for u in range(unroll):
                step(group * unroll + u)
        for k in range(length - length % unroll, length):
            step(tirx.IntImm("int32", k))

    def _epilogue(
        self,
        index: int,
        row: Expr,
        rows: int,
        sums: Callable[[int, int], Expr],
        input_part: Expr | None,
    ) -> None:
        """Update the state of `rows` rows from `row` on, or keep the first pass's part of it.

        `sums(r, gate)` is the sum of row + r. All rows' c come before all rows' h, so that long
        chains of dependent operations of several rows fit into the processor's scheduler.
        """
        unit = self.unit
        zero = tirx.IntImm("int32", 0)
        if index == 0:
            self.fetch(row, rows)
            if input_part is not None:
                for r in range(rows):
                    gated = gated_input(unit, sums(r, 0), sums(r, 1))
                    unit.store(input_part, gated, row + r, zero)
                return
        cells = []
        for r in range(rows):
            c = unit.load(self.cell, row + r, self.column)
            if input_part is None:
                c = new_cell(unit, sums(r, 0), sums(r, 1), sums(r, 2), c)
            else:
                gated = unit.load(input_part, row + r, zero)
                c = new_cell_with_input(unit, sums(r, 0), gated, c)
            unit.store(self.cell, c, row + r, self.column)
            cells.append(c)
        for r, c in enumerate(cells):
            self.output(row + r, new_hidden(unit, sums(r, self.schedule.gates - 1), c))
