"""Products of a panel's rows with a matrix, in register tiles: what a projected output takes beside the gates' sums."""

# ruff: noqa: B023 (functions are called where they are made: they emit code)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.tirx.script import builder as ir

from .tiles import Registers, accumulate, in_tiles, reduction, registers, tile_rows
from .vector import VectorUnit

Expr = Any


def emit_product(
    unit: VectorUnit,
    rows: int,
    columns: int,
    inputs: int,
    tile: Callable[[int], int],
    widest: int,
    element: Callable[[Expr, Expr], Expr],
    matrix: Expr,
    base: Expr,
    store: Callable[[Registers, Expr, Expr, int, int], None],
    before: Callable[[Expr, int, Expr, int], None] = lambda row, high, part, wide: None,
) -> None:
    """Sums over element(row, k) times matrix[base ...], [columns][inputs][lanes], for all `columns` vectors.

    A tile has at most `widest` vectors, and tile(vectors) rows. store(sums, first row, first vector, rows, vectors)
    takes what each gives; before(first row, rows, first vector, vectors) may emit prefetches for it.
    """
    for first, count, wide in tile_rows(columns, widest):
        with ir.serial(count) as number:
            part = first + number * wide

            def body(row: Expr, high: int, _tile: Expr) -> None:
                before(row, high, part, wide)
                sums = registers(unit, high, wide, lambda r, v: unit.splat(0.0))
                reduction(
                    inputs,
                    1,
                    lambda k: accumulate(
                        unit,
                        sums,
                        high,
                        range(wide),
                        lambda r: element(row + r, k),
                        lambda v: unit.load(matrix, base + ((part + v) * inputs + k) * unit.lanes),
                    ),
                )
                store(sums, row, part, high, wide)

            in_tiles(rows, tile(wide), body)
