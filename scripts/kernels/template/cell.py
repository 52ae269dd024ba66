"""The cell's update in vectors, from gate sums in the exp2 domain.

With e = exp(-x): sigmoid(x) = 1 / (1 + e); with e = exp(-2 x): tanh(x) = (1 - e) / (1 + e). The
packed weights scale the sums, so that each e is exp2 of its sum. All is brought to a common
denominator, as a division costs more than products, and written as multiply-adds: for short
reductions every instruction here shows.
"""

from __future__ import annotations

from typing import Any

from tvm.tirx.script import builder as ir

from .vector import VectorUnit
from .weights import LOG2_E

Expr = Any


def new_cell(unit: VectorUnit, i: Expr, g: Expr, f: Expr, c: Expr) -> Expr:
    """sigmoid(f) * c + sigmoid(i) * tanh(g) from the gate sums and the old c."""
    one = unit.splat(1.0)
    e_i, e_g, e_f = unit.exp2(i), unit.exp2(g), unit.exp2(f)
    below = ir.Bind(one + e_i)
    below = ir.Bind(below * e_g + below)
    above = ir.Bind(one - e_g)
    return ir.Bind((above * e_f + (c * below + above)) / (below * e_f + below))


def gated_input(unit: VectorUnit, i: Expr, g: Expr) -> Expr:
    """sigmoid(i) * tanh(g) from the gate sums."""
    one = unit.splat(1.0)
    e_i, e_g = unit.exp2(i), unit.exp2(g)
    below = ir.Bind(one + e_i)
    return (one - e_g) / (below * e_g + below)


def new_cell_with_input(unit: VectorUnit, f: Expr, gated: Expr, c: Expr) -> Expr:
    """sigmoid(f) * c + gated from the gate sum f, the gated input and the old c."""
    return ir.Bind(c / (unit.splat(1.0) + unit.exp2(f)) + gated)


def new_hidden(unit: VectorUnit, o: Expr, c: Expr) -> Expr:
    """sigmoid(o) * tanh(c) from the gate sum o and the new c."""
    return gated_input(unit, o, c * unit.splat(-2.0 * LOG2_E))
