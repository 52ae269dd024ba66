"""Gradients of weights, bias and vectors: one product over all rows of all steps."""

# ruff: noqa: B023 (functions are called where they are made: they emit code)

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from ..target import Core
from .blocking import VALUE, rows_apart, sums_at_once, tallest
from .layout import LINE, declared_places, taking
from .tiles import accumulate, integer, parallel_panels, reduction, registers, tile_rows
from .trained_layer import TrainedLayer
from .vector import VectorUnit

Expr = Any


@dataclass(frozen=True)
class Blocks:
    """How the reduction over all rows of all steps is cut: rows of a batch and steps of a block; columns of x and h that are
    copied beside each other before units pass by, 0 where rows are read as they lie."""

    rows: int
    steps: int
    columns: int


def blocks(layer: TrainedLayer) -> Blocks:
    """The cut of a layer's reduction.

    The gradients of the sums of one block of units stay in the first-level cache. Where those of all weights stay in the
    second-level ones, half as many rows do; where not, these are fetched anew for every block, which has as many rows as
    still make use of that: at 512 units, batch 8 x 100 steps, they take 0.65 of the time (2 cores of AMD Zen 5).

    Rows a power of two apart share a few sets of a cache, and each tile fetches them anew: at 1024 units, batch 32 x 100 steps,
    500 ms, and 230 where a square of rows and columns is copied into half of the second-level cache first (AVX2; 153 and
    132 ms with AVX-512).
    """
    cell, spec, core = layer.cell, layer.spec, layer.unit.core
    most = max(1, core.first // (VALUE * len(cell.sums) * layer.lanes))
    height = min(spec.batch, most)
    columns = len(cell.x_gates) * layer.inputs + len(cell.h_gates) * spec.hidden_size
    weights = columns * spec.hidden_size
    wanted = most // 2 if VALUE * weights <= spec.threads * core.second else 4 * most
    steps = min(spec.length, max(1, wanted // height))
    if height * steps <= min(rows_apart(core, width) for width in (layer.width, layer.hidden)):
        return Blocks(height, steps, 0)
    room = core.second // 2 // VALUE
    steps = min(spec.length, -(-math.isqrt(room) // height))
    return Blocks(height, steps, max(LINE, room // (height * steps) // LINE * LINE))


def _cut(size: int, columns: int) -> Iterator[tuple[int, int]]:
    """(first, how many) of pieces of at most so many columns, all but the last of whole lines; one piece of 0."""
    pieces = -(-size // columns) if columns else 1
    each = -(-size // pieces // LINE) * LINE if columns else size
    for first in range(0, size, each):
        yield first, min(each, size - first)


def parts(sums: range, rows: int, core: Core) -> list[range]:
    """Sums as they share a register tile."""
    if not sums:
        return []
    at_once = sums_at_once(core, len(sums), rows)
    return [sums[first : first + at_once] for first in range(0, len(sums), at_once)]


def emit_gradients(layer: TrainedLayer, a: dict[str, Expr]) -> None:
    """A core takes a share of the unit blocks; x and h are read from memory once for all of them."""
    cell, spec, unit, lanes = layer.cell, layer.spec, layer.unit, layer.lanes
    cut = blocks(layer)
    height, deep = cut.rows, cut.steps
    sums = len(cell.sums)
    sources = (
        ("x", "d_input", layer.inputs, True),
        ("states", "d_recurrent", spec.hidden_size, False),
    )
    # Where results of some tiles go, the first of the reduction's columns and how many, which sums take part, and where
    # each of them lies.
    groups = [
        [
            (source, result, first, size, own, declared_places(cell, is_x))
            for own in parts(taking(cell, range(sums), is_x), whole, unit.core)
        ]
        for source, result, whole, is_x in sources
        for first, size in _cut(whole, cut.columns)
    ]
    groups = [group for group in groups if group]
    if not cut.columns:
        groups = [list(itertools.chain.from_iterable(groups))]

    def tall(vectors: int) -> int:
        return tallest(unit.core, vectors)

    def over(steps: int, rows: int, one: Callable[[Expr, Expr], None]) -> None:
        with ir.serial(steps) as s:
            reduction(rows, 2, lambda r: one(s, r))

    def share(first_block: Expr, count: int) -> None:
        beside = None
        if cut.columns:
            # A line more a row: rows of a power of two would be as far apart as they were.
            room = deep + 1, height + 1, cut.columns + LINE
            beside = ir.alloc_buffer(room, "float32", align=64)

        def rows_block(
            first_step: Expr, steps: int, first_row: Expr, rows: int, fresh: Expr
        ) -> None:
            def begin(buffer: Expr, *at: Expr) -> Expr:
                return tirx.Select(fresh, unit.splat(0.0), unit.load(buffer, *at))

            def copied(source: str, first: int, size: int) -> None:
                """Columns of all rows of the block, whole lines of them."""
                vectors = -(-size // lanes)
                with ir.serial(steps) as s, ir.serial(rows) as r, ir.serial(vectors) as vector:
                    at = first_step + s, first_row + r, first + vector * lanes
                    unit.store(beside, unit.load(a[source], *at), s, r, vector * lanes)

            def element(source: str, first: int, s: Expr, r: Expr, k: Expr) -> Expr:
                if beside is None:
                    return a[source][first_step + s, first_row + r, first + k]
                return beside[s, r, k]

            def products_of(group: list, member: Expr) -> None:
                block = first_block + member
                column = block * lanes
                tiles = sum(-(-size // tall(len(own))) for *_, size, own, _ in group)

                def of_sum(one: int, s: Expr, r: Expr) -> Expr:
                    at = first_step + s, block, first_row + r, integer(one * lanes)
                    return unit.load(a["gates"], *at)

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
                    for source, _, size, _ in () if cut.columns else sources:
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
                for source, result, begun, size, own, places in group:
                    for first, number_of, high in tile_rows(size, tall(len(own))):
                        with ir.serial(number_of) as number:
                            k = first + number * high
                            fetch(number + done)

                            def at(r: int, v: int) -> tuple[Expr, ...]:
                                return begun + k + r, integer(places[own[v]]), column

                            found = registers(
                                unit, high, len(own), lambda r, v: begin(a[result], *at(r, v))
                            )
                            # The next tile's, of which each row and sum lies in a line of its own.
                            for r, v in found if cut.columns else ():
                                unit.prefetch(a[result], *at(high + r, v), level=1)
                            over(
                                steps,
                                rows,
                                lambda s, r: accumulate(
                                    unit,
                                    found,
                                    high,
                                    range(len(own)),
                                    lambda up: element(source, begun, s, r, k + up),
                                    lambda v: of_sum(own[v], s, r),
                                ),
                            )
                            for (r, v), register in found.items():
                                unit.store(a[result], unit.load(register, 0), *at(r, v))
                        done += number_of

                if group is not groups[-1]:
                    return

                def bias_at(v: int) -> tuple[Expr, Expr]:
                    return integer(cell.declared_sums.index(cell.sums[v].name)), column

                found = registers(unit, 1, sums, lambda r, v: begin(a["d_bias"], *bias_at(v)))

                def add(s: Expr, r: Expr) -> None:
                    for v in range(sums):
                        value = unit.load(found[0, v], 0) + of_sum(v, s, r)
                        unit.store(found[0, v], value, 0)

                over(steps, rows, add)
                for v in range(sums):
                    unit.store(a["d_bias"], unit.load(found[0, v], 0), *bias_at(v))

            for group in groups:
                if beside is not None:
                    copied(group[0][0], group[0][2], group[0][3])
                with ir.serial(count) as member:
                    products_of(group, member)

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
