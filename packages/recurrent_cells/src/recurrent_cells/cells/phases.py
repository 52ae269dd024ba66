"""An update in phases, where it normalises over the hidden units or multiplies by a matrix: what a norm or a product is
computed of is complete for all units of a row before what it gives is used.

A phase computes, unit by unit, what the norms and products after it are of; a norm then is a multiply-add by two numbers of
the row, a product an input of its own. A cell without either has one phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .derivative import Backward
from .language import PRODUCTS, Cell, Expression, in_order, named

Replaced = Callable[[Expression, int, Expression], Expression]


@dataclass(frozen=True)
class Moments:
    """Two means over the hidden units that a norm wants of every row.

    Of forward's norms `number`: mean and mean squared deviation of `source`; of their gradients: the means of `source`,
    and of `source` times `other`. Both are names of inputs.
    """

    number: int
    source: str
    other: str | None


@dataclass(frozen=True)
class Multiplied:
    """`product_<number>`: `factor_<number>` times a matrix, forward's products; or backward's, of their gradients."""

    number: int
    matrix: str
    transposed: bool


@dataclass(frozen=True)
class Phase:
    """{name: expression} for every unit, then the means of every row, and products."""

    wanted: dict[str, Expression]
    moments: list[Moments]
    products: list[Multiplied]


MEANS = (("inverse", "offset"), ("first", "second"))
"""What the two numbers of a norm are called, of forward's and of its gradient: see forward_phases, backward_phases."""


def forward_phases(cell: Cell, wanted: dict[str, Expression]) -> list[Phase]:
    """Norm n's result is its source times `inverse_n`, less `offset_n`."""

    def replaced(one: Expression, number: int, source: Expression) -> Expression:
        return source * named(f"inverse_{number}") - named(f"offset_{number}")

    mixing = [*cell.norms, *cell.products]
    return _phases(mixing, wanted, [one.name for one in cell.sums], replaced)


def backward_phases(cell: Cell, backward: Backward) -> list[Phase]:
    """The means of norm n's gradient are `first_n` and `second_n`."""
    found = in_order(backward.gradients.values())
    norms = {one.arguments[2].value: one for one in found if one.operation == "norm_gradient"}

    def replaced(one: Expression, number: int, source: Expression) -> Expression:
        _, y, inverse = one.arguments
        rest = source - named(f"first_{number}") - y * named(f"second_{number}")
        return inverse * rest

    ordered = [norms[name] for name in backward.inverses]
    ordered += products_of_gradients(backward)
    return _phases(ordered, backward.gradients, [], replaced)


def products_of_gradients(backward: Backward) -> list[Expression]:
    """What backward multiplies by a matrix, in the order of its numbers."""
    return [one for one in in_order(backward.gradients.values()) if one.operation in PRODUCTS]


def _phases(
    mixing: list[Expression], wanted: dict[str, Expression], sums: list[str], replaced: Replaced
) -> list[Phase]:
    """mixing: norms, then products; each kind is numbered."""
    kinds = [
        [one for one in mixing if (one.operation in PRODUCTS) is kind] for kind in (False, True)
    ]
    place = {one: number for own in kinds for number, one in enumerate(own)}
    waiting = dict.fromkeys(sorted(mixing, key=lambda one: len(in_order([one]))))
    known: dict[Expression, Expression] = {}
    found = []
    while waiting:
        # Those whose arguments need none that still waits.
        ready = [one for one in waiting if not any(x in waiting for x in in_order(one.arguments))]
        own: dict[str, Expression] = {}
        moments, products, results = [], [], {}
        for one in ready:
            del waiting[one]
            number, argument = place[one], one.arguments[0]
            if one.operation in PRODUCTS:
                own[f"factor_{number}"] = with_known(argument, known)
                transposed = one.operation == "product_transposed"
                products.append(Multiplied(number, one.arguments[1].value, transposed))
                results[one] = named(f"product_{number}")
                continue
            source = argument
            if argument.operation != "input" or argument.value not in sums:
                source = named(f"argument_{number}")
                own[source.value] = with_known(argument, known)
                results[argument] = source
            other = one.arguments[1].value if one.operation == "norm_gradient" else None
            moments.append(Moments(number, source.value, other))
            results[one] = replaced(one, number, source)
        found.append(Phase(own, moments, products))
        known.update(results)
    return [*found, Phase({name: with_known(one, known) for name, one in wanted.items()}, [], [])]


def with_known(root: Expression, known: dict[Expression, Expression]) -> Expression:
    """The expression, with what is known in place of what it stands for."""
    made = dict(known)

    def visit(one: Expression) -> Expression:
        if one not in made:
            new = tuple(map(visit, one.arguments))
            same = new == one.arguments
            made[one] = one if same else Expression.of(one.operation, *new, value=one.value)
        return made[one]

    return visit(root)


def row_values(phases: Iterable[Phase]) -> int:
    """Norms of all phases."""
    return sum(len(phase.moments) for phase in phases)
