"""Matrix products in the template's register tiles, as its steps call them: a core takes its rows through all of them."""

# ruff: noqa: B023 (functions are called where they are made: they emit code)

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import tirx
from tvm.tirx.script import builder as ir

from .runtime import Array
from .template.blocking import rows_held, squarest, steps_held, tallest
from .template.tiles import (
    Functions,
    accumulate,
    in_tiles,
    parallel_panels,
    reduction,
    registers,
    tile_rows,
)
from .template.vector import VectorUnit

Expr = Any


def packed(right: Array, unit: VectorUnit) -> Array:
    """right [..., depth, columns] to [..., columns / w, depth, w], w columns a tile, padded with zeros."""
    width = squarest(unit.core) * unit.lanes
    padding = [(0, 0)] * (right.ndim - 1) + [(0, -right.shape[-1] % width)]
    blocks = np.pad(right, padding).reshape(*right.shape[:-1], -1, width)
    return np.ascontiguousarray(np.moveaxis(blocks, -2, -3))


def add_product(
    functions: Functions,
    name: str,
    left: tuple[int, int, int],
    right: tuple[int, ...],
    transposed: bool,
    unit: VectorUnit,
    threads: int,
) -> None:
    """Add a function of left [times, rows, depth], or [times, depth, rows] if it is `transposed`, of right as `packed`
    gives it, for all times or, by another axis, for each, and of the result [rows, padded columns], in which each time's
    takes the place of the one before."""
    times, rows, depth = (left[0], left[2], left[1]) if transposed else left
    each, (blocks, _, width) = len(right) == 4, right[-3:]
    vectors = squarest(unit.core)
    most = min(depth, steps_held(unit.core, width))
    shapes = {"left": left, "right": right, "result": (rows, blocks * width)}
    with functions.function(name, shapes) as a:

        def panel(start: Expr, height: int) -> None:
            with ir.serial(times) as time:
                for first, pieces, deep in tile_rows(depth, most):
                    with ir.serial(pieces) as piece, ir.serial(blocks) as block:
                        begin = first + piece * deep

                        def body(row: Expr, high: int, _tile: Expr) -> None:
                            def place(r: int, v: int) -> tuple[Expr, Expr]:
                                return start + row + r, block * width + v * unit.lanes

                            def initial(r: int, v: int) -> Expr:
                                if deep == depth:
                                    return unit.splat(0.0)
                                before = unit.load(a["result"], *place(r, v))
                                return tirx.Select(begin == 0, unit.splat(0.0), before)

                            def scalar(r: int, k: Expr) -> Expr:
                                at = (begin + k, start + row + r)
                                return a["left"][(time, *(at if transposed else at[::-1]))]

                            def vector(v: int, k: Expr) -> Expr:
                                at = (block, begin + k, v * unit.lanes)
                                return unit.load(a["right"], *((time, *at) if each else at))

                            sums = registers(unit, high, vectors, initial)
                            reduction(
                                deep,
                                2,
                                lambda k: accumulate(
                                    unit,
                                    sums,
                                    high,
                                    range(vectors),
                                    lambda r: scalar(r, k),
                                    lambda v: vector(v, k),
                                ),
                            )
                            for (r, v), register in sums.items():
                                unit.store(a["result"], unit.load(register, 0), *place(r, v))

                        in_tiles(height, tallest(unit.core, vectors), body)

        parallel_panels(rows, rows_held(unit.core, most), threads, panel)
