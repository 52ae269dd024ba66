"""Vector expressions of the template: loads, stores, and activations in the exp2 domain.

Everything here builds TVM expressions on vectors of `lanes` float32 values. Plain TIR is used
where LLVM makes good code of it; the few intrinsics are those it does not find by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import tirx
from tvm.tirx.script import builder as ir

from ..target import Core

EXPONENT_LIMIT = 40.0
"""Arguments of exp2 in denominators are clamped here: a product of three exponentials stays finite, and
sigmoid and tanh have long reached their limits in float32 (2**-25)."""

LARGEST_EXPONENT = 127.0
"""Arguments of exp2 that stands for an exponential itself are clamped here: float32 holds no more."""

FLOOR = 9
"""Control byte of AVX-512's `reduce`: the fraction above the next lower integer, no exceptions."""

PAIRS = """
declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)
declare <16 x bfloat> @llvm.x86.avx512bf16.cvtneps2bf16.512(<16 x float>)

define <16 x float> @add_products_of_pairs(<16 x float> %total, <16 x float> %a, <16 x float> %b) {
  %x = bitcast <16 x float> %a to <32 x bfloat>
  %y = bitcast <16 x float> %b to <32 x bfloat>
  %sum = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %total, <32 x bfloat> %x, <32 x bfloat> %y)
  ret <16 x float> %sum
}

define <8 x float> @rounded_to_pairs(<16 x float> %values) {
  %rounded = call <16 x bfloat> @llvm.x86.avx512bf16.cvtneps2bf16.512(<16 x float> %values)
  %pairs = bitcast <16 x bfloat> %rounded to <8 x float>
  ret <8 x float> %pairs
}
"""
"""AVX512-BF16's instructions on registers of float32, in LLVM's language; they become part of what calls them."""

Expr = Any


def _exp2_polynomial(degree: int = 5) -> list[float]:
    """Coefficients, lowest first, of exp2 on [0, 1], least relative error at Chebyshev nodes.

    Degree 5 has a relative error of 2e-7, the rounding of float32.
    """
    nodes = np.cos(np.pi * (np.arange(4000) + 0.5) / 4000) / 2 + 0.5
    basis = np.vander(nodes, degree + 1, increasing=True) / np.exp2(nodes)[:, None]
    coefficients, *_ = np.linalg.lstsq(basis, np.ones_like(nodes), rcond=None)
    return [float(value) for value in coefficients]


EXP2_COEFFICIENTS = _exp2_polynomial()


@dataclass(frozen=True)
class VectorUnit:
    """Vector operations of a target's core; paired: whether factors of products are two numbers of bfloat16 in the place of a
    float32 (see `imported`)."""

    core: Core
    paired: bool = False

    @property
    def lanes(self) -> int:
        """Float32 values of a register."""
        return self.core.lanes

    @property
    def avx512(self) -> bool:
        """Whether the AVX-512 forms of rounding and scaling by a power of two exist."""
        return self.core.avx512

    @property
    def dtype(self) -> str:
        """TVM's name of the vector type."""
        return f"float32x{self.lanes}"

    def splat(self, value: Expr) -> Expr:
        """All lanes equal to a scalar (a Python float becomes a constant)."""
        if isinstance(value, float):
            value = tirx.FloatImm("float32", value)
        return tirx.Broadcast(value, self.lanes)

    def load(self, buffer: Expr, *indices: Expr) -> Expr:
        """Consecutive values of a buffer's last axis, from the given indices on."""
        return buffer[(*indices[:-1], tirx.Ramp(indices[-1], 1, self.lanes))]

    def store(self, buffer: Expr, value: Expr, *indices: Expr) -> None:
        """Emit a store of consecutive values of a buffer's last axis."""
        ir.buffer_store(buffer, value, [*indices[:-1], tirx.Ramp(indices[-1], 1, self.lanes)])

    @property
    def operations(self) -> dict[str, Callable[..., Expr]]:
        """What the operations of a cell's lowered expressions are on vectors, each in a register."""
        return {
            "constant": self.splat,
            "add": lambda a, b: self.held(a + b),
            "subtract": lambda a, b: self.held(a - b),
            "multiply": lambda a, b: self.held(a * b),
            "divide": lambda a, b: self.held(a / b),
            "maximum": lambda a, b: self.held(tirx.max(a, b)),
            "at_least": lambda a, b: self.held(
                tirx.Select(a >= b, self.splat(1.0), self.splat(0.0))
            ),
            "exp2": lambda x: self.held(self.exp2(x)),
            "exponential2": lambda x: self.held(self.exp2(x, LARGEST_EXPONENT)),
        }

    def held(self, value: Expr) -> Expr:
        """The value in a buffer of one vector, of which LLVM makes a register.

        TVM's simplifier looks through bound variables: a chain of values that are each used twice takes it
        time exponential in its length.
        """
        register = ir.alloc_buffer((self.lanes,), "float32")
        self.store(register, value, 0)
        return self.load(register, 0)

    @contextmanager
    def imported(self) -> Iterator[None]:
        """A function's body that may call PAIRS: TVM would make float32 of a bfloat16 before LLVM sees it."""
        if not self.paired:
            yield
            return
        with ir.attr(tirx.IntImm("int32", 0), "pragma_import_llvm", PAIRS):
            yield

    def multiply_add(self, total: Expr, a: Expr, b: Expr) -> Expr:
        """total + a * b; of pairs, the sum of both products."""
        if not self.paired:
            return total + a * b
        return tirx.call_pure_extern(self.dtype, "add_products_of_pairs", total, a, b)

    def pairs(self, value: Expr) -> Expr:
        """Neighbouring lanes rounded to bfloat16, in half a register."""
        return tirx.call_pure_extern(f"float32x{self.lanes // 2}", "rounded_to_pairs", value)

    def transposed(self, rows: list[Expr]) -> list[Expr]:
        """The columns of a square of as many vectors as these have lanes: places are swapped bit by bit."""
        values = [self.held(row) for row in rows]
        bit = 1
        while bit < self.lanes:
            swapped = list(values)
            for place in range(self.lanes):
                if not place & bit:
                    pair = [values[place], values[place | bit]]
                    for to, kept in ((place, 0), (place | bit, bit)):
                        # A lane is of its own vector where its bit is that vector's.
                        lanes = [
                            lane + (self.lanes if kept else 0)
                            if lane & bit == kept
                            else (lane ^ bit) + (0 if kept else self.lanes)
                            for lane in range(self.lanes)
                        ]
                        swapped[to] = self.held(
                            tirx.Shuffle(pair, [tirx.IntImm("int32", one) for one in lanes])
                        )
            values, bit = swapped, 2 * bit
        return values

    def total(self, register: Expr) -> Expr:
        """The sum over a register's lanes: halves are added while there are two."""
        lanes = self.lanes // 2
        while lanes:
            half = ir.alloc_buffer((lanes,), "float32")
            parts = [
                register[tirx.Ramp(start, 1, lanes) if lanes > 1 else start] for start in (0, lanes)
            ]
            place = tirx.Ramp(0, 1, lanes) if lanes > 1 else 0
            ir.buffer_store(half, parts[0] + parts[1], [place])
            register, lanes = half, lanes // 2
        return register[0]

    def exp2(self, x: Expr, limit: float = EXPONENT_LIMIT) -> Expr:
        """exp2(min(x, limit)); bound to a variable. Underflow gives zero or tiny."""
        x = ir.Bind(tirx.min(x, self.splat(limit)))
        if self.avx512:
            fraction = ir.Bind(self._avx512("reduce.ps.512", x, tirx.IntImm("int32", FLOOR)))
        else:
            x = ir.Bind(tirx.max(x, self.splat(-125.0)))
            whole = ir.Bind(tirx.floor(x))
            fraction = ir.Bind(x - whole)
        power = self.splat(EXP2_COEFFICIENTS[-1])
        for coefficient in EXP2_COEFFICIENTS[-2::-1]:
            power = power * fraction + self.splat(coefficient)
        if self.avx512:  # scales by 2 ** floor(x)
            return ir.Bind(self._avx512("scalef.ps.512", power, x))
        bias = tirx.Broadcast(tirx.IntImm("int32", 127), self.lanes)
        shift = tirx.Broadcast(tirx.IntImm("int32", 23), self.lanes)
        bits = tirx.shift_left(tirx.Cast(f"int32x{self.lanes}", whole) + bias, shift)
        return ir.Bind(power * tirx.reinterpret(self.dtype, bits))

    def prefetch(self, buffer: Expr, *indices: Expr, level: int) -> None:
        """Emit a prefetch of the line that holds buffer[indices] into a level of the caches.

        It never faults, so the indices may lie outside the buffer.
        """
        address = tirx.address_of(buffer[indices])
        constants = [tirx.IntImm("int32", value) for value in (0, 4 - level, 1)]
        ir.evaluate(tirx.call_llvm_intrin("void", "llvm.prefetch", address, *constants))

    def _avx512(self, name: str, first: Expr, second: Expr) -> Expr:
        """Masked AVX-512 intrinsic with all lanes on and the current rounding mode."""
        return tirx.call_llvm_pure_intrin(
            self.dtype,
            f"llvm.x86.avx512.mask.{name}",
            first,
            second,
            self.splat(0.0),
            tirx.IntImm("int16", -1),
            tirx.IntImm("int32", 4),
        )
