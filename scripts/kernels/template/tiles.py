"""What all functions of the template are made of: register tiles, panels of rows, a real loop over the reduction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tvm import ir as tvm_ir
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.tirx.script import builder as ir

from .vector import VectorUnit

Expr = Any
Shapes = dict[str, tuple[int, ...]]
Registers = dict[tuple[int, int], Expr]


class Functions:
    """TIR functions by name, each with the names, shapes and types of its arguments."""

    def __init__(self) -> None:
        self.made: dict[str, tvm_ir.PrimFunc] = {}
        self.shapes: dict[str, Shapes] = {}

    @contextmanager
    def function(
        self, name: str, shapes: Mapping[str, tuple[int, ...]], integers: tuple[str, ...] = ()
    ) -> Iterator[dict[str, Expr]]:
        """The body of a function: gives its buffers by name, float32 but for `integers`, int64."""
        with IRBuilder() as builder, ir.prim_func(s_tir=True):
            ir.func_name(name)
            ir.func_attr({"global_symbol": name, "tirx.noalias": True})
            yield {
                key: ir.arg(key, ir.Buffer(shape, "int64" if key in integers else "float32"))
                for key, shape in shapes.items()
            }
        self.made[name] = builder.get()
        self.shapes[name] = dict(shapes)


def integer(value: int) -> Expr:
    """A constant of TIR."""
    return tirx.IntImm("int32", value)


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


def in_tiles(rows: int, tile: int, body: Callable[[Expr, int, Expr], None]) -> None:
    """Loop over tiles of at most two sizes: body(first row, rows, number of the tile)."""
    done = 0
    for first, count, size in tile_rows(rows, tile):
        with ir.serial(count) as number:
            body(first + number * size, size, number + done)
        done += count


def parallel_panels(
    rows: int, panel_rows: int, threads: int, emit: Callable[[Expr, int], None]
) -> None:
    """Divide rows into panels that cores take in parallel: `emit(first row, rows)` emits one's body.

    The number of panels is a multiple of the threads where there are enough rows; some have one
    row more than the others.
    """
    panels = panel_count(rows, panel_rows, threads)
    size, extra = divmod(rows, panels)
    with ir.parallel(panels) as panel:
        if not extra:
            emit(panel * size, size)
            return
        with ir.If(panel < extra):
            with ir.Then():
                emit(panel * (size + 1), size + 1)
            with ir.Else():
                emit(panel * size + extra, size)


def panel_count(rows: int, panel_rows: int, threads: int) -> int:
    """How many panels parallel_panels makes."""
    panels = -(-rows // panel_rows)
    return min(-(-panels // threads) * threads, rows)


def registers(
    unit: VectorUnit, rows: int, vectors: int, initial: Callable[[int, int], Expr]
) -> Registers:
    """One buffer of one vector for each (row, vector): LLVM makes registers of them."""
    found = {}
    for row in range(rows):
        for vector in range(vectors):
            register = ir.alloc_buffer((unit.lanes,), "float32")
            unit.store(register, initial(row, vector), 0)
            found[row, vector] = register
    return found


def accumulate(
    unit: VectorUnit,
    sums: Registers,
    rows: int,
    vectors: range,
    scalar: Callable[[int], Expr],
    vector: Callable[[int], Expr],
) -> None:
    """One step of a reduction: sums[row, v] += scalar(row) * vector(v) for v of `vectors`."""
    loaded = {v: ir.Bind(vector(v)) for v in vectors}
    for row in range(rows):
        value = ir.Bind(unit.splat(scalar(row)))
        for v in vectors:
            register = sums[row, v]
            unit.store(register, unit.multiply_add(unit.load(register, 0), value, loaded[v]), 0)


def reduction(extent: int, unroll: int, step: Callable[[Expr], None]) -> None:
    """step(k) for all k below a constant extent, `unroll` of them a loop iteration."""
    unroll = min(unroll, extent)
    with ir.serial(extent // unroll) as group:
        for place in range(unroll):
            step(group * unroll + place)
    for k in range(extent - extent % unroll, extent):
        step(integer(k))
