"""What cells are written in: a function of gate sums, states and vectors, with ordinary operators.

Calling the function once with names gives a graph of expressions. Everything else is made from the graph: the
kernel, its derivative, and the float64 reference. Nothing here needs NumPy or TVM.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Operand = Any  # an Expression or a number


class Expression:
    """A node of the graph. Equal expressions are one object, so `is` compares and each is computed once."""

    __slots__ = ("arguments", "operation", "value")
    _known: dict[tuple[Any, ...], Expression] = {}  # noqa: RUF012

    operation: str
    arguments: tuple[Expression, ...]
    value: Any  # of a constant, its number; of an input, its name

    @classmethod
    def of(cls, operation: str, *arguments: Expression, value: Any = None) -> Expression:
        """The one expression of this operation on these arguments."""
        key = (operation, value, *map(id, arguments))
        if key not in cls._known:
            made = cls.__new__(cls)
            made.operation, made.arguments, made.value = operation, arguments, value
            cls._known[key] = made
        return cls._known[key]

    def __add__(self, other: Operand) -> Expression:
        other = constant(other)
        if is_constant(self, 0.0):
            return other
        if is_constant(other, 0.0):
            return self
        return folded("add", self, other)

    def __sub__(self, other: Operand) -> Expression:
        other = constant(other)
        return self if is_constant(other, 0.0) else folded("subtract", self, other)

    def __mul__(self, other: Operand) -> Expression:
        other = constant(other)
        if is_constant(self, 0.0) or is_constant(other, 0.0):
            return constant(0.0)
        if is_constant(self, 1.0):
            return other
        if is_constant(other, 1.0):
            return self
        return folded("multiply", self, other)

    def __truediv__(self, other: Operand) -> Expression:
        other = constant(other)
        return self if is_constant(other, 1.0) else folded("divide", self, other)

    def __neg__(self) -> Expression:
        return self * -1.0

    def __radd__(self, other: Operand) -> Expression:
        return constant(other) + self

    def __rsub__(self, other: Operand) -> Expression:
        return constant(other) - self

    def __rmul__(self, other: Operand) -> Expression:
        return constant(other) * self

    def __rtruediv__(self, other: Operand) -> Expression:
        return constant(other) / self

    def __repr__(self) -> str:
        if self.operation in ("input", "constant"):
            return str(self.value)
        return f"{self.operation}({', '.join(map(repr, self.arguments))})"


def constant(value: Operand) -> Expression:
    """A number as an expression; an expression stays itself."""
    if isinstance(value, Expression):
        return value
    return Expression.of("constant", value=float(value))


def is_constant(one: Expression, value: float | None = None) -> bool:
    """Whether it is a number, and which."""
    return one.operation == "constant" and (value is None or one.value == value)


def named(name: str) -> Expression:
    """An input by its name."""
    return Expression.of("input", value=name)


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
}


def folded(operation: str, a: Expression, b: Expression) -> Expression:
    """An operation of ARITHMETIC, on numbers at once."""
    if is_constant(a) and is_constant(b):
        return constant(ARITHMETIC[operation](a.value, b.value))
    return Expression.of(operation, a, b)


def sigmoid(x: Operand) -> Expression:
    """1 / (1 + exp(-x))"""
    return Expression.of("sigmoid", constant(x))


def tanh(x: Operand) -> Expression:
    """The hyperbolic tangent."""
    return Expression.of("tanh", constant(x))


def exp(x: Operand) -> Expression:
    """The exponential function; float32 holds it up to x = 88."""
    return Expression.of("exp", constant(x))


def maximum(a: Operand, b: Operand) -> Expression:
    """The larger of two; where they are equal, its derivative is the first one's."""
    return Expression.of("maximum", constant(a), constant(b))


def norm(x: Operand) -> Expression:
    """(x - mean) / sqrt(variance + VARIANCE), both over the hidden units (Ba et al. 2016)."""
    return Expression.of("norm", constant(x))


VARIANCE = 1e-5
"""What `norm` adds to the variance."""


@dataclass(frozen=True)
class Apart:
    """A gate whose weighted sums of x and of h are kept apart, each with a bias."""

    x: Expression
    h: Expression


@dataclass(frozen=True)
class Sum:
    """One weighted sum that a kernel computes: of x, of h, or of both, and a bias."""

    name: str
    x: bool
    h: bool


@dataclass(frozen=True)
class Cell:
    """A recurrent cell. Its first state is the output, which the next step's sums read.

    Weights are w_input [K, gates * H], w_recurrent [H, gates * H], gates as declared, and bias [sums * H]: one a
    gate, of a gate kept apart two (that of x, then that of h); and each vector has [H].

    projected: what the update gives for the output goes through one more matrix, w_projection [H, P], the last of the
    weights. The output then has P values, and w_recurrent is [P, gates * H].
    """

    name: str
    gates: tuple[str, ...]
    apart: frozenset[str]
    states: tuple[str, ...]
    vectors: tuple[str, ...]
    update: Callable[..., Any]
    projected: bool = False

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        """The weighted sums in the kernels' order: those of x alone, of both, of h alone."""
        alone = [gate for gate in self.gates if gate in self.apart]
        both = [Sum(gate, True, True) for gate in self.gates if gate not in self.apart]
        first = [Sum(f"{gate}.x", True, False) for gate in alone]
        return (*first, *both, *(Sum(f"{gate}.h", False, True) for gate in alone))

    @cached_property
    def declared_sums(self) -> tuple[str, ...]:
        """The names of the sums in the order of the bias."""
        pairs = [(f"{g}.x", f"{g}.h") if g in self.apart else (g,) for g in self.gates]
        return tuple(name for pair in pairs for name in pair)

    @cached_property
    def x_sums(self) -> int:
        """How many sums have a part of x: the first ones."""
        return sum(one.x for one in self.sums)

    @cached_property
    def h_sums(self) -> int:
        """How many sums have a part of h: the last ones."""
        return sum(one.h for one in self.sums)

    @cached_property
    def outputs(self) -> dict[str, Expression]:
        """The new states by name, as expressions of the sums, the old states and the vectors."""
        given: dict[str, Any] = {name: named(name) for name in (*self.states, *self.vectors)}
        for gate in self.gates:
            pair = Apart(named(f"{gate}.x"), named(f"{gate}.h"))
            given[gate] = pair if gate in self.apart else named(gate)
        wanted = inspect.signature(self.update).parameters
        unknown = [name for name in wanted if name not in given]
        if unknown:
            raise ValueError(f"cell {self.name}: {unknown[0]} is no gate, state or vector of it")
        found = self.update(**{name: given[name] for name in wanted})
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(self.states):
            raise ValueError(
                f"cell {self.name}: {len(self.states)} states, but {len(found)} new values"
            )
        outputs = dict(zip(self.states, map(constant, found), strict=True))
        if self.projected and given[self.states[0]] in in_order(outputs.values()):
            raise ValueError(f"cell {self.name}: its output is projected, no unit has an own one")
        return outputs

    @cached_property
    def norms(self) -> tuple[Expression, ...]:
        """What is normalised over the hidden units, arguments first."""
        return tuple(one for one in in_order(self.outputs.values()) if one.operation == "norm")


def cell(
    gates: str, states: str, apart: str = "", vectors: str = "", projected: bool = False
) -> Callable[[Callable[..., Any]], Cell]:
    """Make a cell of a function of its gates, states and vectors (those it names) to its new states.

    All names are separated by spaces. A gate in `apart` comes as a pair, `.x` and `.h`. `projected`: see Cell.
    """

    def made(update: Callable[..., Any]) -> Cell:
        names = gates.split(), frozenset(apart.split()), states.split(), vectors.split()
        if not names[1] <= set(names[0]):
            raise ValueError(
                f"cell {update.__name__}: {apart!r} apart, but the gates are {gates!r}"
            )
        own = tuple(map(tuple, (names[0], names[2], names[3])))
        return Cell(update.__name__, own[0], names[1], own[1], own[2], update, projected)

    return made


def in_order(roots: Iterable[Expression]) -> list[Expression]:
    """All expressions that the roots need, arguments first."""
    found: dict[Expression, None] = {}

    def visit(one: Expression) -> None:
        if one not in found:
            for argument in one.arguments:
                visit(argument)
            found[one] = None

    for root in roots:
        visit(root)
    return list(found)


def computed(
    roots: Iterable[Expression],
    inputs: Mapping[str, Any],
    operations: Mapping[str, Callable[..., Any]],
    known: dict[Expression, Any] | None = None,
) -> list[Any]:
    """Values of the roots, from those of the inputs and what an operation does with values.

    `known`: values computed before; this call's are added.
    """
    known = {} if known is None else known
    roots = list(roots)
    for one in in_order(roots):
        if one in known:
            continue
        if one.operation == "input":
            known[one] = inputs[one.value]
        elif one.operation == "constant":
            known[one] = operations["constant"](one.value)
        else:
            known[one] = operations[one.operation](*(known[each] for each in one.arguments))
    return [known[root] for root in roots]
