"""Vector expressions of the template: loads, stores, and activations in the exp2 domain.

Everything here builds TVM expressions on vectors of `lanes` float32 values. Plain TIR is used
where LLVM makes good code of it; the few intrinsics are those it does not find by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import tirx
from tvm.tirx.script import builder as ir

from recurrent_cells.cells.simplify import LOG2_E

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

MEMORY = """
define linkonce_odr void @may_have_changed(ptr %buffer) alwaysinline {
  call void asm sideeffect "", "r,~{memory}"(ptr %buffer)
  ret void
}
"""
"""No instruction; LLVM is told that it may write to the buffer and to all that is not of this function alone."""

Expr = Any


def read_again(buffer: Expr) -> None:
    """LLVM keeps no registers from here on with what was stored to or loaded from a buffer, nor loads from it before: registers that
    are so filled (a buffer on the stack whose places are constants, what a loop does not change) are those that sums lack."""
    with ir.attr(tirx.IntImm("int32", 0), "pragma_import_llvm", MEMORY):
        first = tirx.address_of(buffer[(0,) * len(buffer.shape)])
        ir.evaluate(tirx.call_extern("void", "may_have_changed", first))


def _exp2_polynomial(degree: int = 5) -> list[float]:
    """Coefficients, lowest first, of exp2 on [0, 1], least relative error at Chebyshev nodes.

    Degree 5 has a relative error of 2e-7, the rounding of float32.
    """
    nodes = np.cos(np.pi * (np.arange(4000) + 0.5) / 4000) / 2 + 0.5
    basis = np.vander(nodes, degree + 1, increasing=True) / np.exp2(nodes)[:, None]
    coefficients, *_ = np.linalg.lstsq(basis, np.ones_like(nodes), rcond=None)
    return [float(value) for value in coefficients]


EXP2_COEFFICIENTS = _exp2_polynomial()

SQRT_HALF = 0x3F3504F3
"""The bits of sqrt(1/2)."""

LN_2 = (0.693359375, -2.12194440e-4)
"""The logarithm of 2 as a number of few bits, whose products with exponents are exact, and the rest."""

PI = (3.140625, 9.67502593994140625e-4, 1.509957990978376432e-7)
"""Likewise."""

LARGEST_ANGLE = 8192.0
"""Up to which the products of PI's parts are exact."""


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
            "minimum": lambda a, b: self.held(tirx.min(a, b)),
            "where": lambda condition, a, b: self.held(
                tirx.Select(condition > self.splat(0.5), a, b)
            ),
            "absolute": lambda x: self.held(tirx.max(x, self.splat(0.0) - x)),
            "sign": self._sign,
            "sqrt": lambda x: self.held(tirx.sqrt(x)),
            "log": self.log,
            "softplus": self.softplus,
            "sin": self.sin,
            "cos": self.cos,
            "at_least": lambda a, b: self.held(
                tirx.Select(a >= b, self.splat(1.0), self.splat(0.0))
            ),
            "exp2": lambda x: self.held(self.exp2(x)),
            "exp2_minus_1": lambda x: self.held(self.exp2(x) - self.splat(1.0)),
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

    def _sign(self, x: Expr) -> Expr:
        one, zero = self.splat(1.0), self.splat(0.0)
        return self.held(tirx.Select(x > zero, one, tirx.Select(x < zero, zero - one, zero)))

    def _sum(self, square: Expr, coefficients: list[float]) -> Expr:
        """A polynomial, the lowest coefficient first."""
        total = self.splat(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            total = self.held(total * square + self.splat(coefficient))
        return total

    def _log_of_ratio(self, s: Expr, terms: int) -> Expr:
        """log((1 + s) / (1 - s)), by so many terms of its series."""
        series = self._sum(self.held(s * s), [2.0 / (2 * n + 1) for n in range(terms)])
        return self.held(s * series)

    def log(self, x: Expr) -> Expr:
        """The natural logarithm; of zero -inf, below it NaN."""
        integers = f"int32x{self.lanes}"

        def constant(value: int) -> Expr:
            return tirx.Broadcast(tirx.IntImm("int32", value), self.lanes)

        bits = tirx.reinterpret(integers, x)
        whole = ir.Bind(tirx.shift_right(bits - constant(SQRT_HALF), constant(23)))
        # From sqrt(1/2) to sqrt(2), so that s is at most 0.172 and the logarithm of about 1 exact.
        m = tirx.reinterpret(self.dtype, bits - tirx.shift_left(whole, constant(23)))
        m = self.held(m)
        one = self.splat(1.0)
        exponent = self.held(tirx.Cast(self.dtype, whole))
        fraction = self._log_of_ratio(self.held((m - one) / (m + one)), 5)
        found = exponent * self.splat(LN_2[0]) + (exponent * self.splat(LN_2[1]) + fraction)
        zero = self.splat(0.0)
        outside = tirx.Select(x >= zero, self.splat(float("-inf")), self.splat(float("nan")))
        return self.held(tirx.Select(x > zero, found, outside))

    def softplus(self, x: Expr) -> Expr:
        """max(x, 0) + log(1 + exp(-|x|))"""
        zero = self.splat(0.0)
        u = self.exp2(tirx.min(x, zero - x) * self.splat(LOG2_E))
        share = self._log_of_ratio(self.held(u / (u + self.splat(2.0))), 8)
        return self.held(tirx.max(x, zero) + share)

    def sin(self, x: Expr) -> Expr:
        """The sine of up to LARGEST_ANGLE in absolute value."""
        half_turns = self.held(tirx.floor(x * self.splat(1.0 / np.pi) + self.splat(0.5)))
        return self._half_turn(x, half_turns, half_turns, 1.0)

    def cos(self, x: Expr) -> Expr:
        """The cosine of up to LARGEST_ANGLE in absolute value: at x = r + (n + 1/2) pi, -sin(r) or sin(r)."""
        half_turns = self.held(tirx.floor(x * self.splat(1.0 / np.pi)))
        shift = self.held(half_turns + self.splat(0.5))
        return self._half_turn(x, shift, half_turns, -1.0)

    def _half_turn(self, x: Expr, turns: Expr, whole: Expr, sign: float) -> Expr:
        """sign sin(x - turns pi), times -1 where `whole` is odd."""
        r = x
        for part in PI:
            r = self.held(r - turns * self.splat(part))
        series = [(-1.0) ** n / math.factorial(2 * n + 1) for n in range(7)]
        value = self.held(r * self._sum(self.held(r * r), series))
        half = tirx.floor(whole * self.splat(0.5))
        odd = self.held(whole - half * self.splat(2.0))
        return self.held(value * (self.splat(sign) - odd * self.splat(2.0 * sign)))

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
