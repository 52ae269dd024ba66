"""Gradients of weights, bias and vectors: one product over all rows of all steps."""

# ruff: noqa: B023 (functions are called where they are made: they emit code)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from ..target import Core
from .blocking import VALUE, sums_at_once, tallest
from .layout import LINE, declared_places, taking
from .tiles import accumulate, in_tiles, integer, parallel_panels, reduction, registers, tile_rows
from .trained_layer import TrainedLayer
from .vector import VectorUnit

Expr = Any


def block_rows(layer: TrainedLayer) -> tuple[int, int]:
    """(rows of a batch, steps) of a reduction block.

    The gradients of the sums of one block of units stay in the first-level cache. Where those of all weights stay in the
    second-level ones, half as many rows do; where not, these are fetched anew for every block, which has as many rows as
    still make use of that: at 512 units, batch 8 x 100 steps, they take 0.65 of the time (2 cores of AMD Zen 5).
    """
    cell, spec, core = layer.cell, layer.spec, layer.unit.core
    most = max(1, core.first // (VALUE * len(cell.sums) * layer.lanes))
    height = min(spec.batch, most)
    columns = len(cell.x_gates) * layer.inputs + len(cell.h_gates) * spec.output_size
    weights = columns * spec.hidden_size
    wanted = most // 2 if VALUE * weights <= spec.threads * core.second else 4 * most
    return height, min(spec.length, max(1, wanted // height))


def parts(sums: range, rows: int, core: Core) -> list[range]:
    """Sums as they share a register tile."""
    if not sums:
        return []
    at_once = sums_at_once(core, len(sums), rows)
    return [sums[first : first + at_once] for first in range(0, len(sums), at_once)]


def emit_gradients(layer: TrainedLayer, a: dict[str, Expr]) -> None:
    """A core takes a share of the unit blocks; x and h are read from memory once for all of them."""
    cell, spec, unit, lanes = layer.cell, layer.spec, layer.unit, layer.lanes
    height, deep = block_rows(layer)
    sums = len(cell.sums)
    # Where results of a tile go, the reduction's rows come from, and which sums take part.
    products = [
        (source, result, size, own, declared_places(cell, is_x))
        for source, result, size, is_x in (
            ("x", "d_input", layer.inputs, True),
            ("states", "d_recurrent", spec.output_size, False),
        )
        for own in parts(taking(cell, range(sums), is_x), size, unit.core)
    ]

    def tall(vectors: int) -> int:
        return tallest(unit.core, vectors)

    tiles = sum(-(-size // tall(len(own))) for _, _, size, own, _ in products)

    def over(first_step: Expr, steps: int, first_row: Expr, rows: int, one: Any) -> None:
        with ir.serial(steps) as s:
            reduction(rows, 2, lambda r: one(first_step + s, first_row + r))

    def share(first_block: Expr, count: int) -> None:
        def rows_block(
            first_step: Expr, steps: int, first_row: Expr, rows: int, fresh: Expr
        ) -> None:
            def begin(buffer: Expr, *at: Expr) -> Expr:
                return tirx.Select(fresh, unit.splat(0.0), unit.load(buffer, *at))

            with ir.serial(count) as member:
                block = first_block + member
                column = block * lanes

                def fetch(number: Expr) -> None:
                    """Lines that the next block of units, and a share of those that the next steps read.

                    Each tile fetches some: a reduction block is too short for the hardware to see its stride,
                    and the first tile would wait for every row.
                    """
                    last = member == count - 1
                    ahead = first_step + tirx.Select(last, integer(steps), integer(0))
                    next_block = first_block + (member + 1) % count
                    _lines(
                        unit,
                        number,
                        tiles,
                        steps * rows,
                        -(-sums * lanes // LINE),
                        lambda r, line: (
                            a["gates"],
                            ahead + r // rows,
                            next_block,
                            first_row + r % rows,
                            line * LINE,
                        ),
                    )
                    for source, size in (("x", layer.inputs), ("states", spec.output_size)):
                        own = -(-size // LINE // count) or 1
                        _lines(
                            unit,
                            number,
                            tiles,
                            steps * rows,
                            own,
                            lambda r, line, source=source, own=own: (
                                a[source],
                                first_step + steps + r // rows,
                                first_row + r % rows,
                                (member * own + line) * LINE,
                            ),
                        )

                done = 0
                for source, result, size, own, places in products:
                    for first, number_of, high in tile_rows(size, tall(len(own))):
                        with ir.serial(number_of) as number:
                            k = first + number * high
                            fetch(number + done)

                            def at(r: int, v: int) -> tuple[Expr, ...]:
                                return k + r, integer(places[own[v]]), column

                            found = registers(
                                unit, high, len(own), lambda r, v: begin(a[result], *at(r, v))
                            )
                            over(
                                first_step,
                                steps,
                                first_row,
                                rows,
                                lambda step, row: accumulate(
                                    unit,
                                    found,
                                    high,
                                    range(len(own)),
                                    lambda r: a[source][step, row, k + r],
                                    lambda v: unit.load(
                                        a["gates"], step, block, row, integer(own[v] * lanes)
                                    ),
                                ),
                            )
                            for (r, v), register in found.items():
                                unit.store(a[result], unit.load(register, 0), *at(r, v))
                        done += number_of

                def bias_at(v: int) -> tuple[Expr, Expr]:
                    return integer(cell.declared_sums.index(cell.sums[v].name)), column

                found = registers(unit, 1, sums, lambda r, v: begin(a["d_bias"], *bias_at(v)))

                def add(step: Expr, row: Expr) -> None:
                    for v in range(sums):
                        value = unit.load(a["gates"], step, block, row, integer(v * lanes))
                        unit.store(found[0, v], unit.load(found[0, v], 0) + value, 0)

                over(first_step, steps, first_row, rows, add)
                for v in range(sums):
                    unit.store(a["d_bias"], unit.load(found[0, v], 0), *bias_at(v))

        for first_step, step_blocks, steps in tile_rows(spec.length, deep):
            with ir.serial(step_blocks) as number:
                step = first_step + number * steps
                for first_row, row_blocks, rows in tile_rows(spec.batch, height):
                    with ir.serial(row_blocks) as panel:
                        row = first_row + panel * rows
                        fresh = tirx.And(step == 0, row == 0)
                        rows_block(step, steps, row, rows, fresh)
        for one in range(len(cell.vectors)):
            with ir.serial(count) as member:
                column = (first_block + member) * lanes
                register = registers(unit, 1, 1, lambda r, v: unit.splat(0.0))[0, 0]
                with ir.serial(layer.panels) as panel:
                    part = unit.load(a["part_vectors"], panel, integer(one), column)
                    unit.store(register, unit.load(register, 0) + part, 0)
                unit.store(a["d_vectors"], unit.load(register, 0), integer(one), column)

    threads = min(spec.threads, layer.blocks)
    parallel_panels(layer.blocks, -(-layer.blocks // threads), threads, share)
    if cell.projected:
        _emit_projection(layer, a)


def _emit_projection(layer: TrainedLayer, a: dict[str, Expr]) -> None:
    """The projection's gradient; a core takes a share of the units."""
    spec, unit, lanes = layer.spec, layer.unit, layer.lanes

    def share(start: Expr, units: int) -> None:
        with ir.serial(spec.length) as step:
            for first_row, row_blocks, rows in tile_rows(spec.batch, block_rows(layer)[0]):
                with ir.serial(row_blocks) as panel:
                    row = first_row + panel * rows
                    fresh = tirx.And(step == 0, row == 0)
                    for first, count, wide in layer.strips(layer.outputs):
                        with ir.serial(count) as number:
                            column = (first + number * wide) * lanes

                            def body(k: Expr, high: int, _tile: Expr) -> None:
                                def begin(r: int, v: int) -> Expr:
                                    place = start + k + r, column + v * lanes
                                    before = unit.load(a["d_projection"], *place)
                                    return tirx.Select(fresh, unit.splat(0.0), before)

                                found = registers(unit, high, wide, begin)
                                reduction(
                                    rows,
                                    2,
                                    lambda n: accumulate(
                                        unit,
                                        found,
                                        high,
                                        range(wide),
                                        lambda r: a["made"][step, row + n, start + k + r],
                                        lambda v: unit.load(
                                            a["d_states"], step, row + n, column + v * lanes
                                        ),
                                    ),
                                )
                                for (r, v), register in found.items():
                                    place = start + k + r, column + v * lanes
                                    unit.store(a["d_projection"], unit.load(register, 0), *place)

                            in_tiles(units, layer.tall(wide), body)

    threads = min(spec.threads, spec.hidden_size)
    parallel_panels(spec.hidden_size, -(-spec.hidden_size // threads), threads, share)


def _lines(
    unit: VectorUnit,
    number: Expr,
    tiles: int,
    rows: int,
    each: int,
    place: Callable[[Expr, Expr], tuple[Any, ...]],
) -> None:
    """Prefetch this tile's share of `each` lines of `rows` rows."""
    share = -(-rows * each // tiles)
    with ir.serial(share) as p:
        index = number * share + p
        unit.prefetch(*place(index // each, index % each), level=2)
