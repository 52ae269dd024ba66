"""A cell's expressions in the operations that a processor has: exp2, products, sums and few divisions.

With e = exp(-x), sigmoid(x) is 1 / (1 + e), and with m = exp(-2 x) - 1, which keeps its digits where x is small, tanh(x) is
-m / (1 + (1 + m)). For the new states alone, fractions are carried to a common denominator and divided where a state is complete or an
activation's argument is needed: one division for an LSTM's c and one for its h. Where the derivative keeps single
activations, those whose arguments are ready together share one division: with p = 1 / (a b c), 1 / a is p b c.
A product with 1 + e is written x e + x, a multiply-add: for short reductions every instruction shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import mul

from .language import ARITHMETIC, Cell, Expression, constant, in_order, is_constant, named

LOG2_E = 1.4426950408889634
"""exp(x) is exp2 of x times this."""

SCALES = {"sigmoid": -LOG2_E, "tanh": -2.0 * LOG2_E, "exp": LOG2_E}
"""By what an activation multiplies its argument, so that exp2 gives its exponential."""

SHARED = 3
"""Denominators that may be multiplied: each is at most 1 + 2**EXPONENT_LIMIT (see vector.py)."""


@dataclass(frozen=True)
class Stage:
    """What follows a division: {name: expression}, complete after it and not before."""

    division: Expression | None
    results: dict[str, Expression]


def scales(cell: Cell) -> dict[str, float]:
    """By what the weights of each sum are multiplied: that of the one activation that takes the sum, else 1."""
    found = {}
    nodes = in_order(cell.outputs.values())
    for one in cell.sums:
        users = {user for user in nodes if named(one.name) in user.arguments}
        own = {SCALES.get(user.operation, 1.0) for user in users}
        found[one.name] = own.pop() if len(own) == 1 else 1.0
    return found


def stages(cell: Cell, kept: dict[str, Expression]) -> list[Stage]:
    """The new states, and what is kept for backward, in stages; sums are inputs scaled as `scales` says.

    Results are named as the states, and as in `kept`. Of a cell without norms.
    """
    return lowered(cell, {**cell.outputs, **kept}, single=bool(kept))


def lowered(cell: Cell, wanted: dict[str, Expression], single: bool) -> list[Stage]:
    """What is wanted in stages; `single`: whether activations serve alone, too."""
    return _Lowering(cell, wanted, single).stages(wanted)


@dataclass(frozen=True)
class _Fraction:
    above: Expression
    below: tuple[Expression, ...] = ()


class _Lowering:
    def __init__(self, cell: Cell, wanted: dict[str, Expression], single: bool) -> None:
        self._scales = scales(cell)
        self._single = single
        self._outputs = {wanted[name] for name in cell.states if name in wanted}
        self._uses: dict[Expression, int] = {}
        for one in in_order(wanted.values()):
            for argument in one.arguments:
                self._uses[argument] = self._uses.get(argument, 0) + 1
        self._divisions: list[Expression] = []
        self._values: dict[Expression, Expression] = {}
        self._fractions: dict[Expression, _Fraction] = {}

    def stages(self, wanted: dict[str, Expression]) -> list[Stage]:
        # A state that another one is computed from comes first, and states come before what is kept.
        states = self._outputs
        order = sorted(
            wanted, key=lambda name: (wanted[name] not in states, len(in_order([wanted[name]])))
        )
        values = {name: self._value(wanted[name]) for name in order}
        found: list[Stage] = []
        places = {division: place for place, division in enumerate(self._divisions)}

        def last(one: Expression) -> int:
            return max((places[each] for each in in_order([one]) if each in places), default=-1)

        for place in range(-1, len(self._divisions)):
            division = self._divisions[place] if place >= 0 else None
            own = {name: values[name] for name in wanted if last(values[name]) == place}
            if own or division is not None:
                found.append(Stage(division, own))
        return found

    def _value(self, one: Expression) -> Expression:
        """The expression, divided."""
        if one not in self._values:
            if self._single:
                self._activations(one)
            fraction = self._fraction(one)
            value = fraction.above
            if fraction.below:
                value = value / _product(fraction.below)
                self._divisions.append(value)
            self._values[one] = value
            self._fractions[one] = _Fraction(value)
        return self._values[one]

    def _fraction(self, one: Expression) -> _Fraction:
        if one not in self._fractions:
            found = self._made(one)
            heavy = one.operation not in ("sigmoid", "tanh") and self._uses.get(one, 0) > 1
            if found.below and (one in self._outputs or heavy):
                self._fractions[one] = found
                found = _Fraction(self._value(one))
            self._fractions[one] = found
        return self._fractions[one]

    def _made(self, one: Expression) -> _Fraction:
        arguments = one.arguments
        if one.operation in ("input", "constant"):
            scale = self._scales.get(one.value, 1.0) if one.operation == "input" else 1.0
            return _Fraction(one if scale == 1.0 else one * (1.0 / scale))
        if one.operation in ("sigmoid", "tanh"):
            above, below = self._activation(one)
            return _Fraction(above, (below,))
        if one.operation == "exp":
            return _Fraction(self._exponential(one))
        if one.operation not in ARITHMETIC:
            return _Fraction(Expression.of(one.operation, *map(self._value, arguments)))
        first, second = map(self._fraction, arguments)
        if one.operation == "multiply":
            return self._limited(
                _Fraction(_times(first.above, second.above), first.below + second.below), one
            )
        if one.operation == "divide":
            above = _product((first.above, *second.below))
            if is_constant(second.above):
                return _Fraction(above * (1.0 / second.above.value), first.below)
            if arguments[1] not in self._outputs:
                # It may be as large as it likes: a product with others may leave float32.
                return self._quotient(*map(self._value, arguments))
            return self._limited(_Fraction(above, (*first.below, second.above)), one)
        missing_first = _without(second.below, first.below)
        missing_second = _without(first.below, second.below)
        below = (*missing_first, *first.below)
        if len(below) > SHARED:
            return self._divided(one)
        a = _times(_product(missing_first), first.above)
        b = _times(_product(missing_second), second.above)
        return _Fraction(_sum(one.operation, a, b), below)

    def _limited(self, found: _Fraction, one: Expression) -> _Fraction:
        if len(found.below) <= SHARED:
            return found
        values = map(self._value, one.arguments)
        return self._quotient(*values) if one.operation == "divide" else _Fraction(mul(*values))

    def _quotient(self, a: Expression, b: Expression) -> _Fraction:
        """Divided at once."""
        value = a / b
        self._divisions.append(value)
        return _Fraction(value)

    def _divided(self, one: Expression) -> _Fraction:
        """A sum of terms of which the longer one is divided first."""
        a, b = one.arguments
        longer = max((a, b), key=lambda each: len(self._fraction(each).below))
        self._value(longer)
        self._fractions.pop(one, None)
        return self._made(one)

    def _exponential(self, one: Expression) -> Expression:
        argument, scale = one.arguments[0], SCALES[one.operation]
        if argument.operation == "input" and self._scales.get(argument.value) == scale:
            scaled = argument
        else:
            scaled = self._value(argument) * scale
        # Denominators must stay finite when multiplied, an exponential itself has all of float32's range.
        operation = {"exp": "exponential2", "tanh": "exp2_minus_1"}.get(one.operation, "exp2")
        return Expression.of(operation, scaled)

    def _activation(self, one: Expression) -> tuple[Expression, Expression]:
        e = self._exponential(one)
        if one.operation == "sigmoid":
            return constant(1.0), 1.0 + e
        return -e, 1.0 + (1.0 + e)

    def _activations(self, root: Expression) -> None:
        """Divide all activations of an expression, those whose arguments are ready together at a time."""
        waiting = [
            one
            for one in in_order([root])
            if one.operation in ("sigmoid", "tanh") and one not in self._values
        ]
        for one in waiting:
            inner = one.arguments[0]
            if any(each in waiting for each in in_order([inner])):
                self._value(inner)
        ready = [one for one in waiting if one not in self._values]
        for first in range(0, len(ready), SHARED):
            self._together(ready[first : first + SHARED])

    def _together(self, group: list[Expression]) -> None:
        parts = [self._activation(one) for one in group]
        below = [part[1] for part in parts]
        share = 1.0 / _product(below)
        self._divisions.append(share)
        # Running products serve the inverses: 1 / c is share (a b), and share c serves a and b.
        for place in reversed(range(len(group))):
            own = _times(share, _product(below[:place])) if place else share
            self._values[group[place]] = _times(own, parts[place][0])
            self._fractions[group[place]] = _Fraction(self._values[group[place]])
            share = _times(share, below[place])


def _sum(operation: str, a: Expression, b: Expression) -> Expression:
    """a + b or a - b, where (1 + e) - 1 is e."""
    if operation == "subtract" and a.operation == "add" and a.arguments[0] is b:
        return a.arguments[1]
    return ARITHMETIC[operation](a, b)


def _times(a: Expression, b: Expression) -> Expression:
    """a * b, by a multiply-add where one of them is 1 + e or 1 - e."""
    for one, other in ((a, b), (b, a)):
        if (
            one.operation in ("add", "subtract")
            and is_constant(one.arguments[0], 1.0)
            and not is_constant(other)
        ):
            return ARITHMETIC[one.operation](other, other * one.arguments[1])
    return a * b


def _product(factors: Iterable[Expression]) -> Expression:
    total = constant(1.0)
    for factor in factors:
        total = _times(total, factor)
    return total


def _without(
    all_of: tuple[Expression, ...], those: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    """What is left of some factors without others, each as often as it occurs."""
    rest = list(all_of)
    for one in those:
        if one in rest:
            rest.remove(one)
    return tuple(rest)
