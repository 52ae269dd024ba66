"""The derivative of a cell's update, as few products as can be found, from its graph.

The gradient of a loss flows from the new states back to the sums, old states and vectors. In the graph of
that flow an edge multiplies by a partial derivative, which forward knows. Eliminating a vertex between (Griewank &
Walther 2008, chapter 9) multiplies each edge into it with each edge out of it, where that leaves fewer edges. The
edges that remain, and are no numbers, are what forward keeps for backward: for an LSTM the six values by which
a careful hand would do it, and backward has no exponentials and no divisions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from .language import (
    PRODUCTS,
    Cell,
    Expression,
    at_least,
    constant,
    cos,
    in_order,
    is_constant,
    named,
    sigmoid,
    sign,
    sin,
)

Edges = dict[Expression, dict[Expression, Expression]]

ENDS = ("input", "output", "norm", "under", *PRODUCTS)
"""Vertices that are not eliminated."""


@dataclass(frozen=True)
class Backward:
    """The gradient of one step.

    kept: {name: expression of forward's inputs}, what forward keeps; gradients: {name of a sum, old state or
    vector: expression} of what is kept and of `d_<state>`, the gradients of the new states. inverses: as kept, of
    each norm the inverse of its standard deviation, one a row. products: of each of the cell's products what was multiplied
    and the gradient of what came out, whose outer product, summed over rows, is the matrix's gradient.
    """

    kept: dict[str, Expression]
    gradients: dict[str, Expression]
    inverses: dict[str, Expression]
    products: list[Product]


@dataclass(frozen=True)
class Product:
    """source: of what is kept; gradient: of what is kept and of `d_<state>`."""

    matrix: str
    transposed: bool
    source: Expression
    gradient: Expression


def gradient_name(state: str) -> str:
    """The input of a backward expression that stands for the gradient of a new state."""
    return f"d_{state}"


@functools.cache
def backward(cell: Cell) -> Backward:
    """What forward keeps and backward computes."""
    edges = _eliminate(_edges(cell), cell.vectors)
    different = {edge for above in edges.values() for edge in above.values()}
    different.update(cell.norms, (one.arguments[0] for one in cell.products))
    names: dict[Expression, str] = {}
    inverses = {one: f"inverse_{number}" for number, one in enumerate(cell.norms)}

    def factor(edge: Expression) -> Expression:
        if _known(edge, cell.vectors, different):
            return edge if edge.operation != "subtract" else 1.0 - factor(edge.arguments[1])
        return named(names.setdefault(edge, f"kept_{len(names)}"))

    adjoints: dict[Expression, Expression] = {}

    def adjoint(one: Expression) -> Expression:
        if one.operation == "output":
            return named(gradient_name(one.value))
        if one.operation == "under":
            (above,) = one.arguments
            if above.operation in PRODUCTS:
                return Expression.of(OTHER[above.operation], adjoint(above), above.arguments[1])
            parts = adjoint(above), factor(above), named(inverses[above])
            return Expression.of("norm_gradient", *parts)
        if one not in adjoints:
            total = constant(0.0)
            for above, edge in edges.get(one, {}).items():
                total = total + adjoint(above) * factor(edge)
            adjoints[one] = total
        return adjoints[one]

    inputs = [one.name for one in cell.sums] + [*cell.states, *cell.vectors]
    gradients = {name: adjoint(named(name)) for name in inputs}
    products = []
    for one in cell.products:
        source, matrix = one.arguments
        transposed = one.operation == "product_transposed"
        products.append(Product(matrix.value, transposed, factor(source), adjoint(one)))
    kept = {name: edge for edge, name in names.items()}
    rows = {name: Expression.of("inverse", *one.arguments) for one, name in inverses.items()}
    return Backward(kept, gradients, rows, products)


OTHER = dict(zip(PRODUCTS, reversed(PRODUCTS), strict=True))
"""A product's gradient is multiplied by the transpose."""


def _edges(cell: Cell) -> Edges:
    """{argument: {what is computed of it: partial derivative}}; new states end in vertices of their own.

    Norms and products mix units: what one is computed of ends in a vertex `under` it, and it begins anew.
    """
    edges: Edges = {}

    def add(below: Expression, above: Expression, partial: Expression) -> None:
        own = edges.setdefault(below, {})
        own[above] = own.get(above, constant(0.0)) + partial

    for one in in_order(cell.outputs.values()):
        if one.operation in ("norm", *PRODUCTS):
            add(one.arguments[0], Expression.of("under", one), constant(1.0))
            continue
        for argument, partial in _partials(one):
            if not is_constant(argument):
                add(argument, one, partial)
    for state, new in cell.outputs.items():
        add(new, Expression.of("output", value=state), constant(1.0))
    return edges


Rule = Callable[..., tuple[Expression | None, ...]]

PARTIALS: dict[str, Rule] = {
    "add": lambda one, a, b: (constant(1.0), constant(1.0)),
    "subtract": lambda one, a, b: (constant(1.0), constant(-1.0)),
    "multiply": lambda one, a, b: (b, a),
    "divide": lambda one, a, b: (1.0 / b, -(one / b)),
    "sigmoid": lambda one, a: (one - one * one,),
    "tanh": lambda one, a: (1.0 - one * one,),
    "exp": lambda one, a: (one,),
    "log": lambda one, a: (1.0 / a,),
    "sqrt": lambda one, a: (0.5 / one,),
    "sin": lambda one, a: (cos(a),),
    "cos": lambda one, a: (-sin(a),),
    "softplus": lambda one, a: (sigmoid(a),),
    "absolute": lambda one, a: (sign(a),),
    "sign": lambda one, a: (None,),
    "at_least": lambda one, a, b: (None, None),
    "maximum": lambda one, a, b: (at_least(a, b), 1.0 - at_least(a, b)),
    "minimum": lambda one, a, b: (at_least(b, a), 1.0 - at_least(b, a)),
    "where": lambda one, condition, a, b: (None, condition, 1.0 - condition),
}
"""The partial derivatives of each operation by its arguments, of itself and of these; None: zero. Those of `norm`, which
mixes units, are of their own: see `norm_gradient`."""


def _partials(one: Expression) -> Iterator[tuple[Expression, Expression]]:
    """(argument, partial derivative) of an operation."""
    if one.operation in ("input", "constant"):
        return
    if one.operation not in PARTIALS:
        raise ValueError(f"no derivative of {one.operation!r} is known")
    found = PARTIALS[one.operation](one, *one.arguments)
    for argument, partial in zip(one.arguments, found, strict=True):
        if partial is not None:
            yield argument, partial


def _eliminate(edges: Edges, vectors: tuple[str, ...]) -> Edges:
    """Eliminate inner vertices, the most profitable first, while none makes more work."""
    least = _cost(edges, vectors)
    while True:
        inner = [one for one in edges if one.operation not in ENDS]
        tries = [_without(edges, one) for one in inner]
        costs = [_cost(one, vectors) for one in tries]
        if not costs or min(costs) > least:
            return edges
        least = min(costs)
        edges = tries[costs.index(least)]


def _without(edges: Edges, vertex: Expression) -> Edges:
    """The graph after a vertex is eliminated."""
    new = {one: dict(own) for one, own in edges.items() if one is not vertex}
    for own in new.values():
        edge = own.pop(vertex, None)
        if edge is not None:
            for target, partial in edges[vertex].items():
                own[target] = own.get(target, constant(0.0)) + edge * partial
    return new


def _cost(edges: Edges, vectors: tuple[str, ...]) -> tuple[int, int]:
    """Different values to keep, and products."""
    own = [edge for above in edges.values() for edge in above.values()]
    different = set(own)
    kept = [one for one in different if not _known(one, vectors, different)]
    return len(kept), sum(not is_constant(edge) for edge in own)


def _known(edge: Expression, vectors: tuple[str, ...], others: Collection[Expression]) -> bool:
    """Whether backward has it without its being kept: a number, a vector, or 1 - another one."""
    if edge.operation == "input":
        return edge.value in vectors
    rest = edge.arguments[-1:] if edge.operation == "subtract" else ()
    return is_constant(edge) or (bool(rest) and edge is 1.0 - rest[0] and rest[0] in others)
