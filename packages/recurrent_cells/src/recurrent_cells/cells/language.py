"""What cells are written in: a function of gate sums, states and vectors, with ordinary operators.

Calling the function once with names gives a graph of expressions. Everything else is made from the graph: the
kernel, its derivative, and the float64 reference. Nothing here needs NumPy or TVM.
"""

from __future__ import annotations

import inspect
import keyword
import math
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, NoReturn

Operand = Any  # an Expression or a number


MOST_POWER = 64
LARGEST = (2 - 2**-23) * 2.0**127
"""The largest number of float32."""

MOST_HEADS = 1024
MOST_DEEP = 200
"""Operations of a step that wait for each other: an LSTM's are 7."""


class CellError(ValueError):
    """An invalid cell. The message is one line, `file:line: message` if the file is known."""


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

    def __mul__(self, other: Operand) -> Any:
        if isinstance(other, MatrixState):
            return other * self
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
        if is_constant(other, 0.0):
            raise CellError("a division by zero")
        return self if is_constant(other, 1.0) else folded("divide", self, other)

    def __neg__(self) -> Expression:
        return self * -1.0

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return absolute(self)

    def __pow__(self, power: Any) -> Expression:
        number = isinstance(power, Real) and not isinstance(power, bool)
        if number and power == 0.5:
            return sqrt(self)
        if not number or power != int(power):
            raise CellError(f"a power must be a whole number or 0.5, not {power!r}; exp and log")
        if abs(power) > MOST_POWER:
            raise CellError(f"a power of {power}, and {MOST_POWER} is the most: exp(x * log(...))")
        whole = constant(1.0)
        for _ in range(abs(int(power))):
            whole = whole * self
        return whole if power >= 0 else 1.0 / whole

    def __rpow__(self, base: Any) -> Expression:
        raise CellError(f"{base!r} to a power that is computed: exp(x * log(...))")

    def __eq__(self, other: object) -> bool:
        """Whether it is the same one; in a cell's function it would look like a comparison of values."""
        if _IN_A_CELL.get():
            raise CellError("== and != compare nothing in a cell: >=, <=, > and < do")
        return self is other

    __hash__ = object.__hash__

    def __ge__(self, other: Operand) -> Expression:
        return at_least(self, constant(other))

    def __le__(self, other: Operand) -> Expression:
        return at_least(constant(other), self)

    def __gt__(self, other: Operand) -> Expression:
        return 1.0 - at_least(constant(other), self)

    def __lt__(self, other: Operand) -> Expression:
        return 1.0 - at_least(self, constant(other))

    def __bool__(self) -> bool:
        raise CellError(
            "every unit has a value of its own, so `if`, `and`, `or`, `not`, min and max cannot ask for one: "
            "where(a >= b, then, otherwise), maximum, minimum"
        )

    def __call__(self, *_: Any, **__: Any) -> Expression:
        raise CellError(
            f"{self!r} is a value, and none can be called: what a gate sums is x and the output of the step before"
        )

    def _no_operator(self, *_: Any) -> Expression:
        raise CellError(
            "the language has no //, %, ~, &, | and ^: of comparisons, `and` is *, `or` maximum, `not` 1 - ..."
        )

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __invert__ = _no_operator
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _no_operator

    __array_ufunc__ = None  # NumPy leaves operators to this class, and its functions refuse it

    @classmethod
    def __torch_function__(cls, function: Any, *_: Any, **__: Any) -> Any:
        """PyTorch's functions, which cannot compute with expressions."""
        name = getattr(function, "__name__", str(function))
        raise CellError(f"PyTorch's {name}: use the functions of recurrent_cells")

    def __matmul__(self, other: Any) -> Expression:
        if isinstance(other, MatrixState):
            return Expression.of("read_transposed", other.value, self, _heads())
        if not isinstance(other, Matrix):
            raise CellError(
                "@ multiplies by a matrix of the cell: declare matrices=..., then value @ u"
            )
        if is_constant(self):
            raise CellError("@ of a number: a matrix multiplies what differs between units")
        operation = "product_transposed" if other.transposed else "product"
        return Expression.of(operation, self, named(other.name))

    def __rmatmul__(self, other: Any) -> Expression:
        raise CellError(
            "@ multiplies by a matrix of the cell: declare matrices=..., then value @ u"
        )

    def __getitem__(self, place: Any) -> Expression:
        raise CellError("a value is one of every unit: it has no parts")

    def __iter__(self) -> Any:
        raise CellError("a value is one of every unit: it has no parts")

    def __float__(self) -> NoReturn:
        raise CellError(
            f"Python needs a number here, and {self!r} differs from unit to unit: use the functions of recurrent_cells"
        )

    __int__ = __index__ = __complex__ = __float__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        plain = self.operation == "input"
        own = self.value if plain else "a value"
        if name in WORDS:
            raise CellError(f"{own} has no .{name}: write {name}({self!r})")
        part = plain and name in ("x", "h") and self.value in _GATES.get()
        kept = f': apart="{own}" keeps its sums of x and of h apart' if part else ""
        raise CellError(f"{own} has no .{name}{kept}")

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
    if isinstance(value, Apart):
        raise CellError(f"{value.name} is kept apart: {value.name}.x and {value.name}.h")
    if isinstance(value, Matrix):
        raise CellError(f"{value.name} is a matrix: value @ {value.name}")
    if isinstance(value, MatrixState):
        raise CellError("a matrix state is read by state @ value or value @ state")
    if isinstance(value, bool) or not isinstance(value, Real):
        raise CellError(f"{_told(value)} is no value of a cell")
    if not is_number(value):
        raise CellError(f"{value} is not a number of float32, in which kernels compute")
    return Expression.of("constant", value=float(value))


def is_number(value: Any) -> bool:
    """Whether kernels can compute with it: finite in float32."""
    return isinstance(value, Real) and not isinstance(value, bool) and abs(value) <= LARGEST


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return f"{value} (== compares nothing here; >=, <=, > and < do)"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    name = getattr(value, "__name__", None)
    return f"{name}, which is not called," if name else f"{value!r}"


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


def _function(operation: str, exact: Callable[[float], float], x: Operand) -> Expression:
    """An operation on one value; of a number, the number."""
    x = constant(x)
    if not is_constant(x):
        return Expression.of(operation, x)
    try:
        return constant(exact(x.value))
    except (ValueError, OverflowError) as error:
        raise CellError(f"{operation}({x.value}): {error}") from None


def sigmoid(x: Operand) -> Expression:
    """1 / (1 + exp(-x))"""
    return _function("sigmoid", lambda v: (1 + math.tanh(v / 2)) / 2, x)


def tanh(x: Operand) -> Expression:
    """The hyperbolic tangent."""
    return _function("tanh", math.tanh, x)


def exp(x: Operand) -> Expression:
    """The exponential function; float32 holds it up to x = 88."""
    return _function("exp", math.exp, x)


def log(x: Operand) -> Expression:
    """The natural logarithm of what is above zero."""
    return _function("log", math.log, x)


def sqrt(x: Operand) -> Expression:
    """The square root; its derivative at zero is infinite."""
    return _function("sqrt", math.sqrt, x)


def sin(x: Operand) -> Expression:
    """The sine, of up to 8192 in absolute value."""
    return _function("sin", math.sin, x)


def cos(x: Operand) -> Expression:
    """The cosine, of up to 8192 in absolute value."""
    return _function("cos", math.cos, x)


def softplus(x: Operand) -> Expression:
    """log(1 + exp(x)), for any x."""
    return _function("softplus", lambda v: max(v, 0.0) + math.log1p(math.exp(-abs(v))), x)


def relu(x: Operand) -> Expression:
    """maximum(0, x); its derivative at zero is 0."""
    return maximum(0.0, x)


def absolute(x: Operand) -> Expression:
    """|x|, as abs(x); its derivative at zero is 0."""
    return _function("absolute", abs, x)


def sign(x: Operand) -> Expression:
    """1 above zero, -1 below, 0 at zero; its derivative is 0."""
    return _function("sign", lambda v: (v > 0) - (v < 0), x)


def maximum(a: Operand, b: Operand) -> Expression:
    """The larger of two; where they are equal, its derivative is the first one's."""
    return _of_two("maximum", max, a, b)


def minimum(a: Operand, b: Operand) -> Expression:
    """The smaller of two; where they are equal, its derivative is the first one's."""
    return _of_two("minimum", min, a, b)


def _of_two(operation: str, exact: Callable[..., float], a: Operand, b: Operand) -> Expression:
    a, b = constant(a), constant(b)
    if is_constant(a) and is_constant(b):
        return constant(exact(a.value, b.value))
    return Expression.of(operation, a, b)


def at_least(a: Expression, b: Expression) -> Expression:
    """1 where a >= b, else 0; its derivative is 0. What a comparison gives."""
    return _of_two("at_least", lambda x, y: float(x >= y), a, b)


def where(condition: Operand, a: Operand, b: Operand) -> Expression:
    """a where the condition, a comparison, holds, else b.

    A derivative flows to the one that is taken, the other one's is multiplied by 0: it must be finite, too.
    """
    if not isinstance(condition, Expression):
        raise CellError(f"where asks for a comparison of values, not for {_told(condition)}")
    a, b = constant(a), constant(b)
    if is_constant(condition):
        return a if condition.value else b
    return a if a is b else Expression.of("where", condition, a, b)


def norm(x: Operand) -> Expression:
    """(x - mean) / sqrt(variance + VARIANCE), both over the hidden units (Ba et al. 2016)."""
    x = constant(x)
    if is_constant(x):
        raise CellError("norm of a number, which is the same for all units")
    return Expression.of("norm", x)


VARIANCE = 1e-5
"""What `norm` adds to the variance."""


@dataclass(frozen=True)
class Apart:
    """A gate whose weighted sums of x and of h are kept apart, each with a bias."""

    x: Expression
    h: Expression

    @property
    def name(self) -> str:
        """The gate's."""
        return self.x.value.rpartition(".")[0]

    def _whole(self, *_: Any) -> Any:
        return constant(self)  # raises

    __add__ = __sub__ = __mul__ = __truediv__ = __radd__ = __rsub__ = __rmul__ = _whole
    __rtruediv__ = __neg__ = __pow__ = __ge__ = __le__ = __gt__ = __lt__ = __abs__ = _whole
    __eq__ = _whole


@dataclass(frozen=True)
class Matrix:
    """A matrix of a cell: `value @ u` or `value @ u.T`."""

    name: str
    transposed: bool = False

    @property
    def T(self) -> Matrix:
        """The transpose."""
        return Matrix(self.name, not self.transposed)

    def _alone(self, *_: Any) -> Any:
        raise CellError(f"{self.name} is a matrix: value @ {self.name}")

    __add__ = __sub__ = __mul__ = __truediv__ = __radd__ = __rsub__ = __rmul__ = _alone
    __rtruediv__ = __neg__ = __pow__ = __ge__ = __le__ = __gt__ = __lt__ = __abs__ = _alone
    __matmul__ = __call__ = __getitem__ = __bool__ = __eq__ = _alone


WORDS = (
    *(
        "sigmoid",
        "tanh",
        "exp",
        "log",
        "sqrt",
        "sin",
        "cos",
        "softplus",
        "relu",
        "absolute",
        "sign",
    ),
    *("maximum", "minimum", "where", "norm", "outer", "head_sum", "head_mean"),
)
"""Functions of the language."""

_GATES: ContextVar[tuple[str, ...]] = ContextVar("gates", default=())
_HEADS: ContextVar[int] = ContextVar("heads", default=1)
_IN_A_CELL: ContextVar[bool] = ContextVar("in a cell", default=False)


def _heads() -> Expression:
    return constant(float(_HEADS.get()))


@contextmanager
def heads_of(cell: Cell) -> Iterator[None]:
    """Where the cell's function runs: its gates, and how many heads its matrix states have."""
    token, gates = _HEADS.set(cell.heads), _GATES.set(cell.gates)
    try:
        yield
    finally:
        _HEADS.reset(token)
        _GATES.reset(gates)


@dataclass(frozen=True)
class MatrixState:
    """A matrix a head, [H / heads, H / heads]: a state, or what is made of states and outer products.

    In memory the rows of all heads lie one below the other, [B, H, H / heads].
    """

    value: Expression

    def __add__(self, other: Any) -> MatrixState:
        return MatrixState(self.value + _matrix(other))

    def __sub__(self, other: Any) -> MatrixState:
        return MatrixState(self.value - _matrix(other))

    def __mul__(self, other: Operand) -> MatrixState:
        """Each row times a value of its unit."""
        if isinstance(other, MatrixState):
            raise CellError("two matrix states cannot be multiplied: state @ value, value @ state")
        scale = constant(other)
        if is_constant(scale):
            return MatrixState(self.value * scale)
        return MatrixState(Expression.of("scale_rows", scale, self.value))

    __rmul__ = __mul__

    def __neg__(self) -> MatrixState:
        return self * -1.0

    def __truediv__(self, other: Operand) -> MatrixState:
        return self * (1.0 / constant(other))

    def __matmul__(self, other: Operand) -> Expression:
        return Expression.of("read", self.value, _differing(other), _heads())

    def _no_value(self, *_: Any) -> Any:
        return constant(self)  # raises

    __radd__ = __rsub__ = __rtruediv__ = __pow__ = __abs__ = _no_value
    __ge__ = __le__ = __gt__ = __lt__ = __bool__ = __call__ = __getitem__ = __eq__ = _no_value


def _matrix(other: Any) -> Expression:
    if not isinstance(other, MatrixState):
        raise CellError("to a matrix state only another one can be added: state + outer(a, b)")
    return other.value


def _differing(value: Operand) -> Expression:
    value = constant(value)
    if is_constant(value):
        raise CellError("a value of every unit is wanted here, not a number")
    return value


def outer(a: Operand, b: Operand) -> MatrixState:
    """The matrix of a head whose row i is a_i times the head's b."""
    return MatrixState(Expression.of("outer", _differing(a), _differing(b), _heads()))


def head_sum(a: Operand) -> Expression:
    """The sum over the units of a head, for each of them."""
    return Expression.of("head_sum", _differing(a), _heads())


def head_mean(a: Operand) -> Expression:
    """The mean over the units of a head, for each of them."""
    return Expression.of("head_mean", _differing(a), _heads())


OF_HEADS = ("outer", "scale_rows", "read", "read_transposed", "row_dot", "head_sum", "head_mean")
"""Operations on matrix states, and over the units of a head; their last argument is the number of heads, but for those of
`scale_rows` and `row_dot`, the sums of each row of a product of elements."""

PRODUCTS = ("product", "product_transposed")
"""Operations that multiply by a matrix: of a value, and of the matrix's name."""


@dataclass(frozen=True)
class Sum:
    """One weighted sum that a kernel computes: of x, of h, or of both, and a bias."""

    name: str
    x: bool
    h: bool


@dataclass(frozen=True)
class Cell:
    """A recurrent cell, as made by `cell`.

    The first state is the output. The weights of a layer are w_input [K, x_gates * H], w_recurrent [H, columns * H / heads],
    bias [sums * H] in the order of `declared_sums`, one [H] per vector, and w_projection [H, P] if the cell is projected
    (w_recurrent is then [P, columns * H]). The columns of w_recurrent are those of `h_gates`, then those of `matrices`. With
    heads, each of these matrices is block-diagonal, and the rows of head k of w_recurrent hold its blocks side by side.

    Parameters
    ----------
    name:
        Name of the function.
    gates, states, vectors:
        Names, in the order declared.
    update:
        Function from gates, states and vectors to the new states.
    apart:
        Gates whose sums of x and of h stay separate, each with a bias.
    x_only, h_only:
        Gates that read only x, or only h; they have no columns in the other matrix.
    projected:
        Whether the output is multiplied by w_projection.
    starts:
        Default initial value of each state.
    around:
        Mean of the initial values of each vector.
    constants:
        Named numbers of the function, as (name, value).
    heads:
        Blocks of each recurrent matrix; H is a multiple of it.
    matrices:
        Names of the further matrices, [H, H] each.
    squares:
        States that are a matrix [H / heads, H / heads] per head.
    """

    name: str
    gates: tuple[str, ...]
    apart: frozenset[str]
    states: tuple[str, ...]
    vectors: tuple[str, ...]
    update: Callable[..., Any]
    projected: bool = False
    x_only: frozenset[str] = frozenset()
    h_only: frozenset[str] = frozenset()
    starts: tuple[float, ...] = ()
    around: tuple[float, ...] = ()
    constants: tuple[tuple[str, float], ...] = ()
    heads: int = 1
    matrices: tuple[str, ...] = ()
    squares: tuple[str, ...] = ()

    @cached_property
    def x_gates(self) -> tuple[str, ...]:
        """Gates that read x, in the order of w_input's columns."""
        return tuple(gate for gate in self.gates if gate not in self.h_only)

    @cached_property
    def h_gates(self) -> tuple[str, ...]:
        """Gates that read h, in the order of w_recurrent's columns."""
        return tuple(gate for gate in self.gates if gate not in self.x_only)

    @property
    def columns(self) -> int:
        """Matrices of w_recurrent, side by side: those of gates that read h, then `matrices`."""
        return len(self.h_gates) + len(self.matrices)

    @property
    def vector_states(self) -> tuple[str, ...]:
        """States with one value per unit."""
        return tuple(name for name in self.states if name not in self.squares)

    def state_shapes(self, hidden: int, outputs: int) -> list[tuple[int, ...]]:
        """The shape of each state of a row."""
        sizes: list[tuple[int, ...]] = [(outputs,)]
        for name in self.states[1:]:
            sizes.append((hidden, hidden // self.heads) if name in self.squares else (hidden,))
        return sizes

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        """The weighted sums in the kernels' order: those of x alone, of both, of h alone."""
        alone = [gate for gate in self.gates if gate in self.apart]
        first = [Sum(f"{gate}.x", True, False) for gate in alone]
        first += [Sum(gate, True, False) for gate in self.gates if gate in self.x_only]
        single = self.apart | self.x_only | self.h_only
        both = [Sum(gate, True, True) for gate in self.gates if gate not in single]
        last = [Sum(f"{gate}.h", False, True) for gate in alone]
        last += [Sum(gate, False, True) for gate in self.gates if gate in self.h_only]
        return (*first, *both, *last)

    @cached_property
    def declared_sums(self) -> tuple[str, ...]:
        """Names of the sums in the order of the bias, first the gates that read x, then the sums of h alone."""
        first = [f"{g}.x" if g in self.apart else g for g in self.x_gates]
        alone = [g for g in self.gates if g in self.apart | self.h_only]
        return (*first, *(f"{g}.h" if g in self.apart else g for g in alone))

    @cached_property
    def x_sums(self) -> int:
        """How many sums have a part of x: the first ones."""
        return sum(one.x for one in self.sums)

    @cached_property
    def h_sums(self) -> int:
        """How many sums have a part of h: the last ones."""
        return sum(one.h for one in self.sums)

    def start(self, state: str) -> float:
        """What a state begins with."""
        return self.starts[self.states.index(state)] if self.starts else 0.0

    def with_constants(self, **values: float) -> Cell:
        """Return the same cell with other values of its constants.

        Raises
        ------
        CellError
            If the cell has no such constant.
        """
        known = dict(self.constants)
        for name, value in values.items():
            if name not in known:
                told = f"its constants are {', '.join(known)}" if known else "it has no constants"
                raise CellError(f"cell {self.name}: no constant {name}; {told}")
            known[name] = constant(value).value
        return replace(self, constants=tuple(known.items()))

    @cached_property
    def outputs(self) -> dict[str, Expression]:
        """The new states by name, as expressions of the sums, the old states and the vectors."""
        given: dict[str, Any] = {name: named(name) for name in (*self.states, *self.vectors)}
        for gate in self.gates:
            pair = Apart(named(f"{gate}.x"), named(f"{gate}.h"))
            given[gate] = pair if gate in self.apart else named(gate)
        given |= {name: Matrix(name) for name in self.matrices}
        given |= {name: MatrixState(named(name)) for name in self.squares}
        given |= self.constants
        wanted = inspect.signature(self.update).parameters
        unknown = [name for name in wanted if name not in given]
        if unknown:
            told = f"a constant has a default, {unknown[0]}=0.1"
            told = f"{unknown[0]} is not declared as a gate, state, vector or matrix; {told}"
            raise self._error(told, first=True)
        token = _IN_A_CELL.set(True)
        try:
            with heads_of(self):
                found = self.update(**{name: given[name] for name in wanted})
            found = found if isinstance(found, tuple | list) else (found,)
            nothing = [one is None for one in found] == [True]
            missing = len(found) != len(self.states) or nothing
            new = [] if missing else list(map(self._new, self.states, found))
        except Exception as error:
            raise self._located(error) from None
        finally:
            _IN_A_CELL.reset(token)
        if missing:
            told = "nothing" if nothing else f"{len(found)} value{'s' * (len(found) != 1)}"
            if len(found) == 1 and isinstance(found[0], tuple | list):
                told = f"a {type(found[0]).__name__} within another"
            wanted = f"{len(self.states)} states: {', '.join(self.states)}"
            raise self._error(f"it returns {told} for {wanted}")
        outputs = dict(zip(self.states, new, strict=True))
        if (deep := _depth(new)) > MOST_DEEP:
            raise self._error(
                f"{deep} operations wait for each other, and {MOST_DEEP} are the most"
            )
        nodes = set(in_order(outputs.values()))
        if self.projected and given[self.states[0]] in nodes:
            raise self._error("its output is projected, no unit has an own one")
        for name, new_value in outputs.items():
            read = {one.value for one in in_order([new_value]) if one.operation == "input"}
            if not read - {*self.vectors, *self.matrices}:
                raise self._error(f"the new {name} is the same in every row and step")
        for one in nodes:
            read = {each.value for each in in_order(one.arguments[:1]) if each.operation == "input"}
            if one.operation in PRODUCTS and not read - {*self.vectors, *self.matrices}:
                raise self._error(f"{one!r} is the same in every row and step")
        for name in (*(one.name for one in self.sums), *self.vectors, *self.matrices):
            if named(name) not in nodes:
                raise self._error(f"nothing that it returns depends on {name}")
        return outputs

    def _new(self, state: str, value: Any) -> Expression:
        if state not in self.squares:
            return constant(value)
        if not isinstance(value, MatrixState):
            raise CellError(f"the new {state} is no matrix: {state} + outer(a, b)")
        return value.value

    @cached_property
    def of_heads(self) -> bool:
        """Whether it computes with matrix states, or over the units of a head."""
        return any(one.operation in OF_HEADS for one in in_order(self.outputs.values()))

    def _error(self, told: str, first: bool = False) -> CellError:
        """first: at the line where the function begins, else where it ends."""
        code = self.update.__code__
        lines = [line for *_, line in code.co_lines() if line]
        line = code.co_firstlineno if first else max(lines)
        return CellError(f"{code.co_filename}:{line}: cell {self.name}: {told}")

    def _located(self, error: Exception) -> CellError:
        """An error of the update, with the line at which it arose."""
        frames = traceback.extract_tb(error.__traceback__)
        code = self.update.__code__
        own = [frame.lineno for frame in frames if frame.filename == code.co_filename]
        line = own[-1] if own else max(line for *_, line in code.co_lines() if line)
        return CellError(f"{code.co_filename}:{line}: cell {self.name}: {_reason(error)}")

    def __deepcopy__(self, memo: Any) -> Cell:
        return self

    def __reduce__(self) -> Any:
        """Pickled as its graph (see `text`), so that cells from files, closures and `with_constants` can be, too."""
        from .text import from_text, to_text

        return from_text, (to_text(self),)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same names and compute the same, as a cell and its pickle do."""
        from .text import to_text

        return self is other or (isinstance(other, Cell) and to_text(self) == to_text(other))

    def __hash__(self) -> int:
        return hash((self.name, self.gates, self.states))

    def __repr__(self) -> str:
        return f"<cell {self.name}: gates {' '.join(self.gates)}, states {' '.join(self.states)}>"

    @cached_property
    def norms(self) -> tuple[Expression, ...]:
        """What is normalised over the hidden units, arguments first."""
        return tuple(one for one in in_order(self.outputs.values()) if one.operation == "norm")

    @cached_property
    def products(self) -> tuple[Expression, ...]:
        """What is multiplied by a matrix within the step, arguments first."""
        return tuple(one for one in in_order(self.outputs.values()) if one.operation in PRODUCTS)


_DECLARATION = 'declare its gates and states: @cell(gates="f g", states="h")'


def _named(function: Any) -> str:
    return getattr(function, "__name__", repr(function))


def _reason(error: Exception) -> str:
    """What is wrong with a cell's function, of what it raised."""
    if isinstance(error, CellError):
        return str(error)
    if isinstance(error, NameError):
        told = "no gate, state, vector or constant, no function of the language"
        return f"unknown name {error.name}: {told}, and not defined before the cell"
    if isinstance(error, RecursionError):
        return "a function that it calls calls itself without end"
    told = "a cell computes with operators and the functions of recurrent_cells only"
    return f"{type(error).__name__}: {' '.join(str(error).split())}: {told}"


def cell(
    gates: str = "",
    states: str = "",
    apart: str = "",
    vectors: str = "",
    projected: bool = False,
    x_only: str = "",
    h_only: str = "",
    heads: int = 1,
    matrices: str = "",
    squares: str = "",
    **unknown: Any,
) -> Callable[[Callable[..., Any]], Cell]:
    """Decorate a function from gates, states and vectors to new states; it becomes a `Cell`.

    Names are separated by spaces. Parameters of the function that have a default are constants.

    Parameters
    ----------
    gates:
        Weighted sums of x and h, for example `"i f g o"`.
    states:
        Values carried from step to step, the output first; `"h n=1"` sets an initial value.
    apart:
        Gates whose sums of x and of h stay separate: `n.x` and `n.h`.
    vectors:
        Weights with one value per unit; `"a=1"` sets the mean of their initial values.
    projected:
        Whether the output is multiplied by another matrix, to fewer values.
    x_only, h_only:
        Gates that read only x, or only h.
    heads:
        Blocks of each recurrent matrix, on its diagonal: a unit reads h of its own head.
    matrices:
        Further matrices [H, H], by which the function multiplies: `(r * h) @ u`.
    squares:
        States that are a matrix [H / heads, H / heads] per head: `c = f * c + outer(v, k)`, read by `c @ q`.

    Raises
    ------
    CellError
        If the declaration or the function is invalid.
    """

    if callable(gates):
        raise CellError(f"{_where(gates)}: {_DECLARATION}")
    if unknown:
        given = ", ".join(inspect.signature(cell).parameters)
        told = given.removesuffix(", unknown")
        raise CellError(f"@cell(...) has no argument {next(iter(unknown))}; it has {told}")

    def decorated(update: Callable[..., Any]) -> Cell:
        where = _where(update)
        own_gates = _names(where, "gates", gates)
        own_states = _parsed(where, "states", states)
        own_vectors = _parsed(where, "vectors", vectors)
        own_matrices = _names(where, "matrices", matrices)
        if isinstance(heads, bool) or not isinstance(heads, int) or not 1 <= heads <= MOST_HEADS:
            raise CellError(
                f"{where}: heads must be a number from 1 to {MOST_HEADS}, not {heads!r}"
            )
        if projected and (heads > 1 or own_matrices):
            raise CellError(f"{where}: a projected cell has neither heads nor matrices")
        if not own_gates or not own_states:
            raise CellError(f"{where}: it has no {'state' if own_gates else 'gate'}")
        kinds = {}
        for kind, text in (("apart", apart), ("x_only", x_only), ("h_only", h_only)):
            kinds[kind] = frozenset(_names(where, kind, text))
            if not kinds[kind] <= set(own_gates):
                raise CellError(f"{where}: {kind}={text!r}, but the gates are {gates!r}")
        several = Counter(name for names in kinds.values() for name in names)
        for name, count in several.items():
            if count > 1:
                raise CellError(f"{where}: {name} is in more than one of apart, x_only and h_only")
        if kinds["h_only"] == set(own_gates):
            raise CellError(f"{where}: no gate reads x")
        constants = {
            name: one.default
            for name, one in inspect.signature(update).parameters.items()
            if one.default is not one.empty
        }
        own_squares = _names(where, "squares", squares)
        outside = set(own_squares) - {name for name, _ in own_states[1:]}
        if outside:
            told = (
                "the output cannot be a matrix" if own_states[0][0] in outside else "no such state"
            )
            raise CellError(f"{where}: squares={squares!r}: {told}")
        state_names, vector_names = ([name for name, _ in own] for own in (own_states, own_vectors))
        names = [*own_gates, *state_names, *vector_names, *own_matrices, *constants]
        _distinct(where, names, state_names, vector_names)
        for name, value in constants.items():
            if not is_number(value):
                raise CellError(f"{where}: the constant {name} is {value!r}, no number of float32")
        made = Cell(
            name=update.__name__,
            gates=own_gates,
            states=tuple(state_names),
            vectors=tuple(vector_names),
            update=update,
            projected=projected,
            starts=tuple(value for _, value in own_states),
            around=tuple(value for _, value in own_vectors),
            constants=tuple((name, float(value)) for name, value in constants.items()),
            heads=heads,
            matrices=own_matrices,
            squares=own_squares,
            **kinds,
        )
        _ = made.outputs  # raises where the function cannot be computed
        return made

    return decorated


def _where(function: Any) -> str:
    """`file:line: cell name` of a cell's function."""
    code = getattr(function, "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}: " if code else ""
    return f"{place}cell {_named(function)}"


def _names(where: str, argument: str, text: Any) -> tuple[str, ...]:
    return tuple(name for name, _ in _parsed(where, argument, text, numbered=False))


def _parsed(where: str, argument: str, text: Any, numbered: bool = True) -> list[tuple[str, float]]:
    """[(name, number)] of `a b=1 c`."""
    if not isinstance(text, str):
        told = "must be a string of names, separated by spaces"
        raise CellError(f"{where}: {argument} {told}, not {text!r}")
    found = []
    for one in text.split():
        name, equals, number = one.partition("=")
        if numbered and (not name or (equals and not number)):
            raise CellError(f"{where}: {argument}: {text!r}: write name=1 without spaces")
        if not name.isidentifier() or keyword.iskeyword(name) or (equals and not numbered):
            told = ": separate names with spaces" if "," in one else ""
            raise CellError(f"{where}: {argument}: {one!r} is not a name{told}")
        try:
            value = float(number) if equals else 0.0
        except ValueError:
            value = math.nan
        if not is_number(value):
            told = ": separate names with spaces" if "," in number else ""
            raise CellError(f"{where}: {argument}: {name}={number} is no number of float32{told}")
        found.append((name, value))
    return found


TAKEN = {
    *("x", "y", "dx", "dy", "input", "recurrent", "weights", "bias", "vectors", "projection"),
    *("states", "gates", "kept", "inverse", "made", "turned"),
}
"""What the kernels call their own arrays."""


WEIGHTS = {"weight_input", "weight_recurrent", "weight_projection", "bias"}
"""What layers call the weights that every cell has."""


def _distinct(where: str, names: list[str], states: list[str], vectors: list[str]) -> None:
    for name in vectors:
        if name in WEIGHTS:
            told = f"a vector cannot be called {name}, as weights of every layer are"
            raise CellError(f"{where}: {told}")
    for name in names:
        if names.count(name) > 1:
            raise CellError(f"{where}: {name} is declared twice")
        own = re.fullmatch(r"(kept|inverse|offset|argument|first|second|factor|product)_\d+", name)
        if own or (name.startswith("d_") and name[2:] in states):
            raise CellError(f"{where}: the kernels have a {name} of their own; another name")
    for name in states:
        taken = name in TAKEN or name.startswith(("w_", "d_", "part_"))
        if taken or (name.endswith("0") and name[:-1] in states):
            raise CellError(
                f"{where}: a state cannot be called {name}, as the kernels' own arrays are"
            )


def in_order(roots: Iterable[Expression]) -> list[Expression]:
    """All expressions that the roots need, arguments first."""
    found: dict[Expression, None] = {}
    for root in roots:
        waiting = [root]
        while waiting:
            one = waiting[-1]
            ahead = [each for each in one.arguments if each not in found]
            if ahead:
                waiting += reversed(ahead)
            else:
                found.setdefault(waiting.pop())
    return list(found)


def _depth(roots: Iterable[Expression]) -> int:
    deep: dict[Expression, int] = {}
    for one in in_order(roots):
        deep[one] = 1 + max((deep[each] for each in one.arguments), default=-1)
    return max(deep.values())


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
