"""The cell's update in vectors, from gate sums in the exp2 domain.

With e = exp(-x): sigmoid(x) = 1 / (1 + e); with e = exp(-2 x): tanh(x) = (1 - e) / (1 + e). The
packed weights scale the sums, so that each e is exp2 of its sum. Denominators are multiplied
before the reciprocal is taken, as it costs more than the products.
"""

from __future__ import annotations

from typing import Any

from tvm.tirx.script import builder as ir

from .vector import VectorUnit
from .weights import LOG2_E

Expr = Any


def update(unit: VectorUnit, sums: list[Expr], c: Expr) -> tuple[Expr, Expr]:
    """New (h, c) from the gate sums i, g, f, o and the old c."""
    one = unit.splat(1.0)
    e_i, e_g, e_f, e_o = (unit.exp2(value) for value in sums)
    forget = ir.Bind(one + e_f)
    candidate = ir.Bind((one + e_i) * (one + e_g))
    numerator = c * candidate + (one - e_g) * forget
    c = ir.Bind(numerator * unit.reciprocal(candidate * forget))
    return _output(unit, e_o, c), c


def gated_input(unit: VectorUnit, i: Expr, g: Expr) -> Expr:
    """sigmoid(i) * tanh(g) from the gate sums."""
    one = unit.splat(1.0)
    e_i, e_g = unit.exp2(i), unit.exp2(g)
    return (one - e_g) * unit.reciprocal((one + e_i) * (one + e_g))


def update_with_input(
    unit: VectorUnit, sums: list[Expr], gated: Expr, c: Expr
) -> tuple[Expr, Expr]:
    """New (h, c) from the gate sums f, o, the gated input and the old c."""
    e_f, e_o = (unit.exp2(value) for value in sums)
    c = ir.Bind(c * unit.reciprocal(unit.splat(1.0) + e_f) + gated)
    return _output(unit, e_o, c), c


def _output(unit: VectorUnit, e_o: Expr, c: Expr) -> Expr:
    """sigmoid(o) * tanh(c)."""
    one = unit.splat(1.0)
    e_c = unit.exp2(c * unit.splat(-2.0 * LOG2_E))
    return (one - e_c) * unit.reciprocal((one + e_o) * (one + e_c))
