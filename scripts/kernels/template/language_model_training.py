"""What surrounds the layers in training of a language model: cross-entropy, embedding gradient, Adam.

The logits of all tokens would be 256 MB in document 001's model. They are made for some rows at a time, and turned in
place into what the gradients need: with e = exp(logit - maximum) and s its sum, the gradient of the mean
cross-entropy of n tokens is (e - s at the target) / (s n), so that a factor of the row is all that is missing. The
product for h multiplies its result by it, that for the weights takes h multiplied by it.

    pack_output  the projection's weights, to the orders of the two products: [V / w, H, w], and [H / w, V, w]
    scores       logits [V / w, rows, w] of some rows, as e - s at the target, factors and losses of the rows
    d_hidden     the gradient of h of these rows
    d_output     what they add to the gradients of the projection
    d_embedding  rows of x's gradient added up by token
    adam         every weight, moment and gradient read once, in one flat array each
"""

# ruff: noqa: B023 (functions are called where they are made: they emit code)

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from recurrent_cells.cells.simplify import LOG2_E

from ..spec import KernelSpec
from .blocking import VALUE, rows_at_once, rows_held, squarest, steps_held, tallest
from .layout import LINE
from .tiles import (
    Functions,
    accumulate,
    in_tiles,
    integer,
    parallel_panels,
    reduction,
    registers,
    tile_rows,
)
from .vector import LARGEST_EXPONENT, VectorUnit

Expr = Any


@dataclass(frozen=True)
class Surroundings:
    """The functions of one model; its embedding and hidden size must be whole cache lines."""

    spec: KernelSpec
    vocabulary: int
    unit: VectorUnit
    weights: int

    @property
    def rows(self) -> int:
        """Tokens of a batch."""
        return self.spec.length * self.spec.batch

    @property
    def chunk(self) -> int:
        """Rows at a time: a divisor of all, so that there is one function, and in whole lines of any array."""
        most = rows_at_once(self.unit.core, self.spec.hidden_size, self.vocabulary)
        sizes = range(LINE, min(most, self.rows) + 1, LINE)
        return max((size for size in sizes if self.rows % size == 0), default=self.rows)

    @property
    def vectors(self) -> int:
        """Vectors of a register tile."""
        return squarest(self.unit.core)

    @property
    def tile(self) -> int:
        """Its rows."""
        return tallest(self.unit.core, self.vectors)

    @property
    def wide(self) -> int:
        """Columns of a block."""
        return self.vectors * self.unit.lanes

    @property
    def blocks(self) -> int:
        """Blocks of columns of the logits; the last one is padded."""
        return -(-self.vocabulary // self.wide)

    def shapes(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """Arguments of the functions by name."""
        hidden, chunk = self.spec.hidden_size, self.chunk
        packed = {
            "columns": (self.blocks, hidden, self.wide),
            "column_bias": (self.blocks * self.wide,),
        }
        scores = {"scores": (self.blocks, chunk, self.wide)}
        factors = {"factors": (chunk,)}
        turned = {"turned": (self.blocks * self.wide * hidden,)}
        h = {"h": (chunk, hidden)}
        return {
            "pack_output": {
                "w_output": (hidden, self.vocabulary),
                "w_output_bias": (self.vocabulary,),
                **packed,
                **turned,
            },
            "scores": {**h, **packed, "targets": (chunk,), **scores, **factors, "losses": (chunk,)},
            "d_hidden": {**scores, **factors, **turned, "d_h": (chunk, hidden)},
            "d_output": {
                **h,
                **scores,
                **factors,
                "scaled": (chunk * hidden,),
                "d_columns": (self.blocks, hidden, self.wide),
                "d_column_bias": (self.blocks * self.wide,),
            },
            "unpack_output": {
                "d_columns": (self.blocks, hidden, self.wide),
                "d_column_bias": (self.blocks * self.wide,),
                "d_w_output": (hidden, self.vocabulary),
                "d_w_output_bias": (self.vocabulary,),
            },
            "embed_rows": {
                "tokens": (self.rows,),
                "embedding": (self.vocabulary, self.spec.input_size),
                "x": (self.rows, self.spec.input_size),
            },
            "d_embedding": {
                "tokens": (self.rows,),
                "dx": (self.rows, self.spec.input_size),
                "d_embedding": (self.vocabulary, self.spec.input_size),
            },
            "adam": {
                "constants": (7,),
                **{name: (self.weights,) for name in ("weights", "gradients", "first", "second")},
            },
        }

    def add(self, functions: Functions, names: Iterable[str] | None = None) -> None:
        """Add all functions, or those of some names."""
        shapes = self.shapes()
        for name in shapes if names is None else names:
            with functions.function(name, shapes[name], ("tokens", "targets")) as arguments:
                getattr(self, f"_{name}")(arguments)

    def _pack_output(self, a: dict[str, Expr]) -> None:
        hidden, lanes = self.spec.hidden_size, self.unit.lanes
        zero = tirx.FloatImm("float32", 0.0)
        last = self.vocabulary - 1
        with ir.parallel(self.blocks) as block:
            first = block * self.wide
            with ir.serial(hidden) as k, ir.serial(self.wide) as n:
                value = a["w_output"][k, tirx.min(first + n, integer(last))]
                value = tirx.Select(first + n < self.vocabulary, value, zero)
                ir.buffer_store(a["columns"], value, [block, k, n])
            for first_strip, count, vectors in tile_rows(hidden // lanes, self.vectors):
                with ir.serial(count) as number, ir.serial(self.wide) as n:
                    column = (first_strip + number * vectors) * lanes
                    for lane in range(vectors * lanes):
                        place = self._turned(column, first + n, vectors * lanes) + lane
                        value = a["columns"][block, column + lane, n]
                        ir.buffer_store(a["turned"], value, [place])
            with ir.serial(self.wide) as n:
                # Columns that pad have no share in the sums.
                value = a["w_output_bias"][tirx.min(first + n, integer(last))]
                value = tirx.Select(
                    first + n < self.vocabulary, value, tirx.FloatImm("float32", -1e30)
                )
                ir.buffer_store(a["column_bias"], value, [first + n])

    def _turned(self, column: Expr, row: Expr, width: int) -> Expr:
        """Where the transposed weights have a row of the strip of `width` columns from `column` on."""
        return column * (self.blocks * self.wide) + row * width

    def _unpack_output(self, a: dict[str, Expr]) -> None:
        with ir.parallel(self.blocks) as block:
            first = block * self.wide
            with (
                ir.serial(self.spec.hidden_size) as k,
                ir.serial(self.wide) as n,
                ir.If(first + n < self.vocabulary),
                ir.Then(),
            ):
                ir.buffer_store(a["d_w_output"], a["d_columns"][block, k, n], [k, first + n])
            with (
                ir.serial(self.wide) as n,
                ir.If(first + n < self.vocabulary),
                ir.Then(),
            ):
                ir.buffer_store(a["d_w_output_bias"], a["d_column_bias"][first + n], [first + n])

    def _scores(self, a: dict[str, Expr]) -> None:
        unit, lanes, hidden = self.unit, self.unit.lanes, self.spec.hidden_size

        vectors = range(self.vectors)

        def panel(start: Expr, rows: int) -> None:
            most = ir.alloc_buffer((rows, lanes), "float32", align=64)
            total = ir.alloc_buffer((rows, lanes), "float32", align=64)
            with ir.serial(rows) as row:
                unit.store(most, unit.splat(-1e30), row, integer(0))
                unit.store(total, unit.splat(0.0), row, integer(0))
            with ir.serial(self.blocks) as block:

                def body(row: Expr, high: int, _tile: Expr) -> None:
                    bias = block * self.wide
                    sums = registers(
                        unit,
                        high,
                        self.vectors,
                        lambda r, v: unit.load(a["column_bias"], bias + v * lanes),
                    )
                    reduction(
                        hidden,
                        2,
                        lambda k: accumulate(
                            unit,
                            sums,
                            high,
                            vectors,
                            lambda r: a["h"][start + row + r, k],
                            lambda v: unit.load(a["columns"], block, k, integer(v * lanes)),
                        ),
                    )
                    for r in range(high):
                        largest = unit.load(most, row + r, integer(0))
                        for v in vectors:
                            value = unit.load(sums[r, v], 0)
                            unit.store(
                                a["scores"], value, block, start + row + r, integer(v * lanes)
                            )
                            largest = tirx.max(largest, value)
                        unit.store(most, largest, row + r, integer(0))

                in_tiles(rows, self.tile, body)

            def place(at: Expr) -> list[Expr]:
                target = a["targets"][at]
                return [target // self.wide, at, target % self.wide]

            with ir.serial(rows) as row:
                largest = ir.alloc_buffer((1,), "float32")
                ir.buffer_store(largest, most[row, 0], [0])
                for lane in range(1, lanes):
                    ir.buffer_store(largest, tirx.max(largest[0], most[row, lane]), [0])
                unit.store(most, unit.splat(largest[0]), row, integer(0))
                own = a["scores"][tuple(place(start + row))]
                ir.buffer_store(a["losses"], largest[0] - own, [start + row])
            # Blocks outside: a row's values lie a block apart, in as many pages.
            with ir.serial(self.blocks) as block, ir.serial(rows) as row:
                for v in vectors:
                    at = block, start + row, integer(v * lanes)
                    away = unit.load(a["scores"], *at) - unit.load(most, row, integer(0))
                    e = unit.held(unit.exp2(away * unit.splat(LOG2_E), LARGEST_EXPONENT))
                    unit.store(a["scores"], e, *at)
                    unit.store(total, unit.load(total, row, integer(0)) + e, row, integer(0))
            with ir.serial(rows) as row:
                at = start + row
                whole = ir.alloc_buffer((1,), "float32")
                ir.buffer_store(whole, total[row, 0], [0])
                for lane in range(1, lanes):
                    ir.buffer_store(whole, whole[0] + total[row, lane], [0])
                own = a["scores"][tuple(place(at))] - whole[0]
                ir.buffer_store(a["scores"], own, place(at))
                ir.buffer_store(a["losses"], a["losses"][at] + tirx.log(whole[0]), [at])
                share = tirx.FloatImm("float32", 1.0 / self.rows) / whole[0]
                ir.buffer_store(a["factors"], share, [at])

        panel_rows = rows_held(unit.core, hidden)
        parallel_panels(self.chunk, panel_rows, self.spec.threads, panel)

    def _d_hidden(self, a: dict[str, Expr]) -> None:
        unit, lanes, hidden = self.unit, self.unit.lanes, self.spec.hidden_size

        def panel(start: Expr, rows: int) -> None:
            # The scores of these columns stay in the half of the second-level cache while strips of weights pass by.
            held = unit.core.second // 2 // (VALUE * rows)
            deep = max(1, min(held, steps_held(unit.core, self.wide)) // self.wide)
            for first_block, groups, blocks in tile_rows(self.blocks, deep):
                with ir.serial(groups) as group:
                    base = first_block + group * blocks
                    fresh = base == 0
                    for first, count, vectors in tile_rows(hidden // lanes, self.vectors):
                        with ir.serial(count) as number:
                            column = (first + number * vectors) * lanes

                            def body(row: Expr, high: int, _tile: Expr) -> None:
                                def begin(r: int, v: int) -> Expr:
                                    before = unit.load(
                                        a["d_h"], start + row + r, column + v * lanes
                                    )
                                    return tirx.Select(fresh, unit.splat(0.0), before)

                                sums = registers(unit, high, vectors, begin)
                                with ir.serial(blocks) as block:
                                    reduction(
                                        self.wide,
                                        2,
                                        lambda k: accumulate(
                                            unit,
                                            sums,
                                            high,
                                            range(vectors),
                                            lambda r: a["scores"][base + block, start + row + r, k],
                                            lambda v: unit.load(
                                                a["turned"],
                                                self._turned(
                                                    column,
                                                    (base + block) * self.wide + k,
                                                    vectors * lanes,
                                                )
                                                + v * lanes,
                                            ),
                                        ),
                                    )
                                for (r, v), register in sums.items():
                                    at = start + row + r
                                    last = base + blocks == self.blocks
                                    factor = tirx.Select(
                                        last, a["factors"][at], tirx.FloatImm("float32", 1.0)
                                    )
                                    value = unit.load(register, 0) * unit.splat(factor)
                                    unit.store(a["d_h"], value, at, column + v * lanes)

                            in_tiles(rows, self.tile, body)

        parallel_panels(self.chunk, self.chunk, self.spec.threads, panel)

    def _d_output(self, a: dict[str, Expr]) -> None:
        unit, lanes, hidden = self.unit, self.unit.lanes, self.spec.hidden_size
        # Tile by tile, as they are read: a column of h has a line of its own for every value.
        with ir.parallel(self.chunk) as row:
            for first, count, high in tile_rows(hidden, self.tile):
                with ir.serial(count) as number:
                    k = first + number * high
                    for r in range(high):
                        value = a["h"][row, k + r] * a["factors"][row]
                        ir.buffer_store(a["scaled"], value, [k * self.chunk + row * high + r])

        def share(first_block: Expr, count: int) -> None:
            with ir.serial(count) as member:
                block = first_block + member
                for first, number_of, high in tile_rows(hidden, self.tile):
                    with ir.serial(number_of) as number:
                        k = first + number * high
                        sums = registers(
                            unit,
                            high,
                            self.vectors,
                            lambda r, v: unit.load(
                                a["d_columns"], block, k + r, integer(v * lanes)
                            ),
                        )
                        reduction(
                            self.chunk,
                            2,
                            lambda row: accumulate(
                                unit,
                                sums,
                                high,
                                range(self.vectors),
                                lambda r: a["scaled"][k * self.chunk + row * high + r],
                                lambda v: unit.load(a["scores"], block, row, integer(v * lanes)),
                            ),
                        )
                        for (r, v), register in sums.items():
                            value = unit.load(register, 0)
                            unit.store(a["d_columns"], value, block, k + r, integer(v * lanes))
                column = block * self.wide
                sums = registers(
                    unit,
                    1,
                    self.vectors,
                    lambda r, v: unit.load(a["d_column_bias"], column + v * lanes),
                )
                reduction(
                    self.chunk,
                    2,
                    lambda row: accumulate(
                        unit,
                        sums,
                        1,
                        range(self.vectors),
                        lambda r: a["factors"][row],
                        lambda v: unit.load(a["scores"], block, row, integer(v * lanes)),
                    ),
                )
                for (_, v), register in sums.items():
                    unit.store(a["d_column_bias"], unit.load(register, 0), column + v * lanes)

        parallel_panels(self.blocks, self.blocks, self.spec.threads, share)

    def _embed_rows(self, a: dict[str, Expr]) -> None:
        with ir.parallel(self.rows) as row, ir.serial(self.spec.input_size) as column:
            ir.buffer_store(a["x"], a["embedding"][a["tokens"][row], column], [row, column])

    def _d_embedding(self, a: dict[str, Expr]) -> None:
        """A core takes a share of the columns: rows of one token must be added one after another."""

        def share(first: Expr, columns: int) -> None:
            with ir.serial(self.vocabulary) as token, ir.serial(columns) as column:
                zero = tirx.FloatImm("float32", 0.0)
                ir.buffer_store(a["d_embedding"], zero, [token, first + column])
            with ir.serial(self.rows) as row, ir.serial(columns) as column:
                token = a["tokens"][row]
                value = a["d_embedding"][token, first + column] + a["dx"][row, first + column]
                ir.buffer_store(a["d_embedding"], value, [token, first + column])

        parallel_panels(self.spec.input_size, self.spec.input_size, self.spec.threads, share)

    def _adam(self, a: dict[str, Expr]) -> None:
        """Kingma & Ba 2015, algorithm 1. constants: beta_1, 1 - beta_1, beta_2, 1 - beta_2, rate / (1 - beta_1^t),
        1 / (1 - beta_2^t), epsilon."""
        unit, lanes = self.unit, self.unit.lanes
        with ir.parallel(self.weights // lanes) as block:
            at = block * lanes
            beta_1, rest_1, beta_2, rest_2, rate, correction, epsilon = (
                unit.splat(a["constants"][n]) for n in range(7)
            )
            gradient = unit.held(unit.load(a["gradients"], at))
            first = unit.held(beta_1 * unit.load(a["first"], at) + rest_1 * gradient)
            second = unit.held(beta_2 * unit.load(a["second"], at) + rest_2 * (gradient * gradient))
            unit.store(a["first"], first, at)
            unit.store(a["second"], second, at)
            below = tirx.sqrt(second * correction) + epsilon
            unit.store(a["weights"], unit.load(a["weights"], at) - rate * first / below, at)
