"""What surrounds the LSTM layers in a language model: embedding and projection, as TIR functions.

They stand in one library with the kernel: `embed`, `main` (the layers), `project`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import ir as tvm_ir
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.tirx.script import builder as ir

from ..spec import KernelSpec
from .blocking import rows_held, squarest, tallest, unrolled
from .layout import Array
from .tiles import accumulate, in_tiles, parallel_panels, reduction, registers
from .vector import VectorUnit

Expr = Any


def functions(spec: KernelSpec, vocabulary: int, unit: VectorUnit) -> dict[str, tvm_ir.PrimFunc]:
    """`embed` and `project` for the kernel's shape."""
    return {
        "embed": _embed(spec.length * spec.batch, spec.input_size, vocabulary),
        "project": _project(spec, vocabulary, unit),
    }


def pack_projection(weight: Array, bias: Array, width: int) -> tuple[Array, Array]:
    """weight [H, V] to [V / w, H, w], bias [V] to [V / w, w], w columns a tile, V padded with zeros."""
    padding = -weight.shape[1] % width
    blocks = np.pad(weight, ((0, 0), (0, padding))).reshape(weight.shape[0], -1, width)
    return (
        np.ascontiguousarray(blocks.transpose(1, 0, 2), dtype=np.float32).ravel(),
        np.pad(bias, (0, padding)).astype(np.float32),
    )


def _function(name: str, emit: Callable[[], None]) -> tvm_ir.PrimFunc:
    with IRBuilder() as builder, ir.prim_func(s_tir=True):
        ir.func_name(name)
        ir.func_attr({"global_symbol": name, "tirx.noalias": True})
        emit()
    return builder.get()


def _embed(rows: int, size: int, vocabulary: int) -> tvm_ir.PrimFunc:
    """tokens [R] int64, embedding [V, K] to x [R, K]."""

    def emit() -> None:
        tokens = ir.arg("tokens", ir.Buffer((rows,), "int64"))
        embedding = ir.arg("embedding", ir.Buffer((vocabulary, size), "float32"))
        x = ir.arg("x", ir.Buffer((rows, size), "float32"))
        with ir.parallel(rows) as row, ir.serial(size) as column:
            ir.buffer_store(x, embedding[tokens[row], column], [row, column])

    return _function("embed", emit)


def _project(spec: KernelSpec, vocabulary: int, unit: VectorUnit) -> tvm_ir.PrimFunc:
    """h [R, H], weight and bias as pack_projection gives them to logits [R, V]."""
    rows, hidden, wide = spec.length * spec.batch, spec.hidden_size, squarest(unit.core)
    width = wide * unit.lanes
    whole, rest = divmod(vocabulary, width)
    blocks = whole + bool(rest)

    def emit() -> None:
        h = ir.arg("h", ir.Buffer((rows, hidden), "float32"))
        weight = ir.arg("weight", ir.Buffer((blocks * hidden * width,), "float32"))
        bias = ir.arg("bias", ir.Buffer((blocks * width,), "float32"))
        logits = ir.arg("logits", ir.Buffer((rows, vocabulary), "float32"))

        def block(first: Expr, size: int, number: Expr, columns: int) -> None:
            """One block of columns of the rows from `first` on."""

            def body(row: Expr, high: int, _tile: Expr) -> None:
                begin = number * width
                sums = registers(
                    unit, high, wide, lambda r, v: unit.load(bias, begin + v * unit.lanes)
                )
                reduction(
                    hidden,
                    unrolled(unit.core, wide),
                    lambda k: accumulate(
                        unit,
                        sums,
                        high,
                        range(wide),
                        lambda r: h[first + row + r, k],
                        lambda v: unit.load(weight, (number * hidden + k) * width + v * unit.lanes),
                    ),
                )
                for r in range(high):
                    vectors = [sums[r, v] for v in range(wide)]
                    _store_row(unit, logits, vectors, first + row + r, begin, columns)

            in_tiles(size, tallest(unit.core, wide), body)

        def panel(first: Expr, size: int) -> None:
            if whole:
                with ir.serial(whole) as number:
                    block(first, size, number, width)
            if rest:
                block(first, size, tirx.IntImm("int32", whole), rest)

        parallel_panels(rows, rows_held(unit.core, hidden), spec.threads, panel)

    return _function("project", emit)


def _store_row(
    unit: VectorUnit, logits: Expr, vectors: list[Expr], row: Expr, column: Expr, columns: int
) -> None:
    """Store the first `columns` of a row's sums from `column` on."""
    for index, register in enumerate(vectors):
        first = index * unit.lanes
        if first + unit.lanes <= columns:
            unit.store(logits, unit.load(register, 0), row, column + first)
        else:
            for lane in range(max(0, columns - first)):
                ir.buffer_store(logits, register[lane], [row, column + first + lane])
