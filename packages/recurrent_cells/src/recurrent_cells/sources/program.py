"""From a graph to statements: what is computed once has a name, the author's where there is one, and all else stands
where it is used."""

from __future__ import annotations

import inspect
import keyword
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..cells.language import (
    Apart,
    Cell,
    Expression,
    Matrix,
    MatrixState,
    constant,
    heads_of,
    in_order,
    is_constant,
    named,
)

WIDTH = 100
"""Characters of a line."""

SUM, PRODUCT, SIGN, ATOM = range(4)
"""How tightly a text binds."""

CALLED = {
    **{"add": "total", "subtract": "difference", "multiply": "product", "divide": "ratio"},
    **{"sigmoid": "gate", "norm": "normed", "affine_norm": "normed"},
}
"""What a value is called that has no name of its author's."""


@dataclass(frozen=True)
class Dialect:
    """How a framework writes operations: {operation: text of its arguments' texts}; and what is not that simple.

    special(node, text): the text of a node that is written by its arguments' kind, or None. mask(condition, value): of a
    comparison as a number, where `value` is one of what is compared.
    """

    calls: Mapping[str, str]
    mask: str
    special: Callable[[Expression, Callable[[Expression], str]], str | None]
    reserved: tuple[str, ...] = ()


OF_HEADS = {
    **{name: f"{name}({{}}, {{}}, {{}})" for name in ("outer", "read", "read_transposed")},
    "scale_rows": "scale_rows({}, {})",
    **{name: f"{name}({{}}, {{}})" for name in ("head_sum", "head_mean")},
}
"""How the operations of matrix states are called: functions that a source has of its own."""


def helped(text: str, functions: Mapping[str, str]) -> str:
    """The functions that a text calls, by name."""
    return "".join(
        f"\n\n{own}" for name, own in functions.items() if re.search(rf"\b{name}\(", text)
    )


def headed(dialect: Dialect, cell: Cell, product: str, transposed: str) -> Dialect:
    """The dialect for a cell; product, transposed: how values are multiplied by its matrices, where these are whole."""
    if cell.heads > 1:
        product, transposed = "by_heads({}, {})", "by_heads_transposed({}, {})"
    calls = {**OF_HEADS, **dialect.calls, "product": product, "product_transposed": transposed}
    return replace(dialect, calls=calls)


@dataclass
class Program:
    """Statements for some roots.

    names: names that the author gave; hints: names for what needs one. given: {name of an input: the variable that has it}.
    """

    dialect: Dialect
    roots: list[Expression]
    names: dict[Expression, str]
    hints: dict[Expression, str]
    given: dict[str, str]
    constants: Mapping[str, float] = field(default_factory=dict)
    _variables: dict[Expression, str] = field(default_factory=dict)
    _own: set[Expression] = field(default_factory=set)
    _masks: set[Expression] = field(default_factory=set)

    def lines(self) -> tuple[list[str], list[str]]:
        """The statements, and the roots' texts."""
        nodes = in_order(self.roots)
        uses: dict[Expression, int] = {}
        conditions: dict[Expression, int] = {}
        for one in nodes:
            for place, argument in enumerate(one.arguments):
                uses[argument] = uses.get(argument, 0) + 1
                if one.operation == "where" and place == 0 and not _of_numbers(one):
                    conditions[argument] = conditions.get(argument, 0) + 1
        for root in self.roots:
            uses[root] = uses.get(root, 0) + 1
        inner = [one for one in nodes if one.operation not in ("input", "constant")]
        # What only chooses is a comparison and no number.
        self._masks = {
            one for one in inner if conditions.get(one, 0) == uses.get(one, 0) and _compared(one)
        }
        again = {one for one in inner if uses.get(one, 0) > 1 and one.operation != "at_least"}
        self._own = {one for one in inner if one in self.names} | again
        while True:
            statements, results = self._written(nodes)
            wide = next((at for at, (_, text) in statements if len(text) > WIDTH), None)
            if wide is None and len(", ".join(results)) > WIDTH - 16:
                wide = max(self.roots, key=lambda one: len(self._text(one)[0]))
                if wide in self._own or not wide.arguments:
                    wide = None
                else:
                    self._own.add(wide)
                    continue
            part = None if wide is None else self._largest(wide)
            if part is None:
                return [text for _, (_, text) in statements], results
            self._own.add(part)

    def _largest(self, one: Expression) -> Expression | None:
        """What stands inside a statement and is best taken out."""
        inside: list[Expression] = []

        def visit(each: Expression) -> None:
            for argument in each.arguments:
                if argument.arguments and argument not in self._own:
                    inside.append(argument)
                    visit(argument)

        visit(one)
        fits = [each for each in inside if len(self._text(each)[0]) <= WIDTH - 20]
        fits = [each for each in fits if each.operation != "at_least"]
        return max(fits, key=lambda each: len(self._text(each)[0]), default=None)

    def _written(self, nodes: list[Expression]) -> Any:
        """Names are given in order: one may be given anew where what it stood for is not used any more."""
        own = [one for one in nodes if one in self._own]
        holders: dict[str, Expression] = {}
        self._variables = {}
        reads = [self._reads(one) for one in own] + [set().union(*map(self._leaves, self.roots))]
        last_read = {leaf: place for place, leaves in enumerate(reads) for leaf in leaves}
        for name, variable in self.given.items():
            holders[variable] = named(name)
            self._variables[named(name)] = variable
        for name, value in self.constants.items():
            if any(is_constant(one, value) for one in nodes) and value not in (0.0, 1.0, -1.0):
                variable = self._free(name, holders, last_read, len(reads))
                holders[variable] = constant(value)
                self._variables[constant(value)] = variable
        statements = [
            (one, ("", f"{variable} = {_number(one.value)}"))
            for one, variable in self._variables.items()
            if one.operation == "constant"
        ]
        for place, one in enumerate(own):
            wanted = (
                self.names.get(one) or self.hints.get(one) or CALLED.get(one.operation, "value")
            )
            text = self._text(one, top=True)[0]
            variable = self._free(wanted, holders, last_read, place)
            holders[variable] = one
            self._variables[one] = variable
            statements.append((one, (variable, f"{variable} = {text}")))
        return statements, [self._text(root)[0] for root in self.roots]

    def _free(
        self, wanted: str, holders: dict[str, Expression], last: dict[Expression, int], place: int
    ) -> str:
        """The name, or one like it where it still stands for something that is read."""
        if wanted in self.dialect.reserved or keyword.iskeyword(wanted):
            wanted += "_"
        for name in (wanted, f"new_{wanted}", *(f"{wanted}_{n}" for n in range(2, 1000))):
            held = holders.get(name)
            if held is None or (held.operation != "constant" and last.get(held, -1) <= place):
                return name
        raise AssertionError(wanted)

    def _reads(self, one: Expression) -> set[Expression]:
        return set().union(*map(self._leaves, one.arguments)) if one.arguments else set()

    def _leaves(self, one: Expression) -> set[Expression]:
        if one in self._own or not one.arguments:
            return {one}
        return self._reads(one)

    def _text(self, one: Expression, top: bool = False) -> tuple[str, int]:
        """Text and how tightly it binds; top: of what a variable is about to stand for."""
        if one in self._variables and not top:
            return self._variables[one], ATOM
        if one.operation == "constant":
            return _number(one.value), SIGN if one.value < 0 else ATOM
        if one.operation == "input":
            return self.given[one.value], ATOM
        if one in self._masks:
            return self._condition(one), SUM
        if one.operation == "where":
            return (
                self._numbers(*one.arguments)
                if _of_numbers(one)
                else (self._where(*one.arguments), ATOM)
            )
        if one.operation == "at_least":
            a, b = one.arguments
            value = a if not is_constant(a) else b
            text = self.dialect.mask.format(self._condition(one), self._in(value, ATOM))
            return text, ATOM
        if one.operation in ("add", "subtract", "multiply", "divide"):
            return self._infix(one)
        special = self.dialect.special(one, lambda each: self._text(each)[0])
        if special is not None:
            return special, ATOM
        if one.operation == "affine_norm":
            x, gain, shift = one.arguments
            return f"norm({self._text(x)[0]}) * {self._text(gain)[0]} + {self._text(shift)[0]}", SUM
        texts = [self._text(each)[0] for each in one.arguments]
        return self.dialect.calls[one.operation].format(*texts), ATOM

    def _where(self, condition: Expression, a: Expression, b: Expression) -> str:
        if condition in self._variables and condition in self._masks:
            asked = self._variables[condition]
        elif _compared(condition) and condition not in self._variables:
            asked = self._condition(condition)
        else:
            asked = f"{self._in(condition, SUM)} > 0.5"
        return self.dialect.calls["where"].format(asked, self._text(a)[0], self._text(b)[0])

    def _numbers(self, condition: Expression, a: Expression, b: Expression) -> tuple[str, int]:
        """A choice between two numbers, as arithmetic: frameworks would make integers of them."""
        if is_constant(a, 1.0) and is_constant(b, 0.0):
            return self._text(condition)
        step = a.value - b.value
        text = self._in(condition, PRODUCT)
        scaled = text if abs(step) == 1.0 else f"{text} * {_number(abs(step))}"
        return f"{_number(b.value)} {'+' if step > 0 else '-'} {scaled}", SUM

    def _condition(self, one: Expression) -> str:
        """A comparison's text."""
        sign = ">="
        if one.operation == "subtract":
            one, sign = one.arguments[1], "<"
        a, b = one.arguments
        if is_constant(a) and not is_constant(b):
            a, b, sign = b, a, {">=": "<=", "<": ">"}[sign]
        return f"{self._in(a, SUM)} {sign} {self._in(b, SUM)}"

    def _in(self, one: Expression, least: int) -> str:
        text, binds = self._text(one)
        return text if binds >= least else f"({text})"

    def _infix(self, one: Expression) -> tuple[str, int]:
        a, b = one.arguments
        if one.operation == "multiply":
            for minus, other in ((a, b), (b, a)):
                if is_constant(minus, -1.0):
                    return f"-{self._in(other, SIGN)}", SIGN
            for share, other in ((b, a), (a, b)):
                once = share.operation == "divide" and share not in self._variables
                if once and is_constant(share.arguments[0], 1.0):
                    below = self._in(share.arguments[1], SIGN)
                    return f"{self._in(other, PRODUCT)} / {below}", PRODUCT
            return f"{self._in(a, PRODUCT)} * {self._in(b, PRODUCT)}", PRODUCT
        if one.operation == "divide":
            return f"{self._in(a, PRODUCT)} / {self._in(b, SIGN)}", PRODUCT
        sign = "+" if one.operation == "add" else "-"
        turned = self._negated(b)
        if turned is not None:
            sign, b = "-" if sign == "+" else "+", turned
        elif one.operation == "add" and (other := self._negated(a)) is not None:
            sign, a, b = "-", b, other
        return f"{self._in(a, SUM)} {sign} {self._in(b, PRODUCT)}", SUM

    def _negated(self, one: Expression) -> Expression | None:
        """b of -b."""
        if one in self._variables or one.operation != "multiply":
            return None
        a, b = one.arguments
        if is_constant(a, -1.0):
            return b
        return a if is_constant(b, -1.0) else None


def _of_numbers(one: Expression) -> bool:
    """Whether a choice is between two numbers."""
    condition, *chosen = one.arguments
    return all(map(is_constant, chosen)) and _is_0_or_1(condition)


def _is_0_or_1(one: Expression) -> bool:
    if one.operation == "multiply":
        return all(map(_is_0_or_1, one.arguments))
    return _compared(one)


def _compared(one: Expression) -> bool:
    """Whether it is a comparison, or the contrary of one."""
    if one.operation == "subtract" and is_constant(one.arguments[0], 1.0):
        one = one.arguments[1]
    return one.operation == "at_least"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e6 else repr(value)


def author_names(cell: Cell) -> dict[Expression, str]:
    """What the author called the values of the update: its local variables, as it runs."""
    found: dict[Expression, str] = {}
    taken = {*cell.gates, *cell.states, *cell.vectors}
    given: dict[str, Any] = {name: named(name) for name in taken}
    for gate in cell.apart:
        given[gate] = Apart(named(f"{gate}.x"), named(f"{gate}.h"))
    given |= {name: Matrix(name) for name in cell.matrices}
    given |= {name: MatrixState(named(name)) for name in cell.squares}
    given.update(cell.constants)
    wanted = inspect.signature(cell.update).parameters

    def note(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code is not cell.update.__code__:
            return None
        for name, value in frame.f_locals.items():
            value = value.value if isinstance(value, MatrixState) else value
            if isinstance(value, Expression) and value.arguments:
                found.setdefault(value, name)
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        with heads_of(cell):
            cell.update(**{name: given[name] for name in wanted})
    finally:
        sys.settrace(before)
    return found


def rewritten(
    roots: Iterable[Expression],
    replaced: Mapping[Expression, Expression],
    vectors: Iterable[str],
    affine: bool,
) -> tuple[list[Expression], dict[Expression, Expression]]:
    """The roots with inputs `replaced`, mixtures by one product less, and, if `affine`, norms with their gain and shift.

    Also what each expression became.
    """
    roots = list(roots)
    uses: dict[Expression, int] = {}
    for one in in_order(roots):
        for argument in one.arguments:
            uses[argument] = uses.get(argument, 0) + 1
    own = set(vectors)
    made: dict[Expression, Expression] = dict(replaced)

    def vector(one: Expression) -> bool:
        return one.operation == "input" and one.value in own

    def mixture(one: Expression) -> Expression | None:
        """f a + (1 - f) b is b + f (a - b)."""
        if one.operation != "add" or any(each.operation != "multiply" for each in one.arguments):
            return None
        for first, second in (one.arguments, one.arguments[::-1]):
            for f, a in (first.arguments, first.arguments[::-1]):
                for rest, b in (second.arguments, second.arguments[::-1]):
                    once = all(uses[each] == 1 for each in (first, second, rest))
                    if rest is 1.0 - f and once and not is_constant(f):
                        f, a, b = map(visit, (f, a, b))
                        return b + f * (a - b)
        return None

    def normed(one: Expression) -> Expression | None:
        """gain norm(x) + shift"""
        if one.operation != "add":
            return None
        for product, shift in (one.arguments, one.arguments[::-1]):
            if product.operation == "multiply" and vector(shift) and uses[product] == 1:
                for gain, norm in (product.arguments, product.arguments[::-1]):
                    if vector(gain) and norm.operation == "norm" and uses[norm] == 1:
                        parts = map(visit, (norm.arguments[0], gain, shift))
                        return Expression.of("affine_norm", *parts)
        return None

    def visit(one: Expression) -> Expression:
        if one not in made:
            new = mixture(one) if one.arguments else one
            if new is None and affine:
                new = normed(one)
            if new is None:
                arguments = tuple(map(visit, one.arguments))
                same = all(a is b for a, b in zip(arguments, one.arguments, strict=True))
                new = one if same else Expression.of(one.operation, *arguments, value=one.value)
            made[one] = new
        return made[one]

    return [visit(root) for root in roots], made


def docstring(*paragraphs: str) -> str:
    """A module's docstring, its lines filled."""
    first, *rest = paragraphs
    filled = [textwrap.fill(one, 120, break_long_words=False) for one in rest]
    return '"""' + "\n\n".join([first, "\n".join(filled)]) + '\n"""\n'


@dataclass(frozen=True)
class Parts:
    """A cell as all frameworks of operators write it: its inputs' variables, and its new states.

    from_x, from_h: variables of the gates' parts of x and of h, in the columns' order; both: whether these are one sum of all
    gates, or, where gates of x alone lie on one side, of the gates `joined` (first, number).
    """

    cell: Cell
    from_x: tuple[str, ...]
    from_h: tuple[str, ...]
    both: bool
    joined: tuple[int, int] | None
    own: tuple[str, ...]
    program: Program
    reads: frozenset[str]

    @property
    def own_text(self) -> str:
        """What a docstring says of `own`."""
        count = len(self.own) - len(self.cell.matrices)
        kinds = (
            ("[H] each", self.own[:count]),
            (
                f"[H, H{f' / {self.cell.heads}' if self.cell.heads > 1 else ''}] each",
                self.own[count:],
            ),
        )
        return (
            ", ".join(f"{shape}: {', '.join(names)}" for shape, names in kinds if names) or "empty"
        )

    @property
    def states(self) -> str | None:
        """The states' variables as one unpacks them, `_` where one is not read; None where none is."""
        reads = self.reads | ({self.cell.states[0]} if self.cell.h_gates else set())
        names = [self.program.given[one] if one in reads else "_" for one in self.cell.states]
        return None if set(names) == {"_"} else ", ".join(names)

    def sums(
        self,
        size: str,
        added: Callable[[str], str],
        product: str,
        unpacked: Callable[[tuple[str, ...], str], str],
    ) -> list[str]:
        """The statements that give the gates' sums of `from_input`. size: the units, as one asks h for them; added: h's
        product with its weights added to a part of it; product: that alone; unpacked: a value in so many parts."""
        if self.both:
            return [unpacked(self.from_x, added("from_input"))]
        if self.joined:
            first, joined = self.joined
            count = len(self.from_x)
            lines = [f"size = {size}"]
            for start, stop in ((0, first), (first, first + joined), (first + joined, count)):
                if start < stop:
                    part = f"from_input[:, {_times(start)}:{_times(stop) if stop < count else ''}]"
                    value = added(part) if start == first else part
                    lines.append(unpacked(self.from_x[start:stop], value))
            return lines
        lines = [unpacked(self.from_x, "from_input")]
        return [*lines, unpacked(self.from_h, product)] if self.from_h else lines


def _times(count: int) -> str:
    return {0: "", 1: "size"}.get(count, f"{count} * size")


def columns(cell: Cell) -> str:
    """What a docstring says of the recurrent matrix's columns."""
    return "gates that read h * H" + (f" / {cell.heads}" if cell.heads > 1 else "")


def taken(names: Sequence[str], value: str) -> str:
    """The statement that names all of a sequence's items."""
    return f"({names[0]},) = {value}" if len(names) == 1 else f"{', '.join(names)} = {value}"


def parts(cell: Cell, dialect: Dialect, slices: bool) -> Parts:
    """slices: whether a part of the gates is added by one sum where others read x alone."""
    given: dict[str, str] = {}
    used: set[str] = set(dialect.reserved)

    def variable(name: str) -> str:
        while name in used or keyword.iskeyword(name):
            name += "_"
        used.add(name)
        return name

    for name in (*cell.states, *cell.vectors, *cell.matrices):
        given[name] = variable(name)
    single = cell.apart | cell.x_only | cell.h_only
    full = [gate for gate in cell.gates if gate not in single]
    both, joined = not single, None
    places = [cell.x_gates.index(gate) for gate in full]
    alone = full and cell.x_only and not cell.apart and not cell.h_only
    if slices and alone and places == list(range(places[0], places[0] + len(places))):
        joined = (places[0], len(places))
    together = both or joined is not None
    biases = cell.declared_sums[len(cell.x_gates) :]
    own = [variable(f"b_{name.partition('.')[0]}") for name in biases]
    own += [given[name] for name in (*cell.vectors, *cell.matrices)]
    replaced: dict[Expression, Expression] = {}
    hints: dict[Expression, str] = {}
    from_x, from_h = [], []
    for gate in cell.gates:
        if gate in cell.x_only or (together and gate in full):
            given[gate] = variable(gate)
            from_x.append(given[gate])
            continue
        names = {}
        for part, has in (("x", cell.x_gates), ("h", cell.h_gates)):
            if gate in has:
                key = f"{gate}.{part}"
                names[part] = named(key)
                given[key] = variable(f"{gate}_{part}")
                (from_x if part == "x" else from_h).append(given[key])
        bias = f"{gate}.h" if gate in cell.apart else gate
        if bias in biases:
            key = f"bias {gate}"
            given[key] = own[biases.index(bias)]
            names["h"] = Expression.of("add", names["h"], named(key))
        if gate in cell.apart:
            replaced[named(f"{gate}.h")] = names["h"]
        elif gate in cell.h_only:
            replaced[named(gate)] = names["h"]
        else:
            replaced[named(gate)] = Expression.of("add", names["x"], names["h"])
            hints[replaced[named(gate)]] = gate
    roots, made = rewritten(cell.outputs.values(), replaced, cell.vectors, affine=True)
    leaves = {one.value for one in in_order(roots) if one.operation == "input"}
    # A gate kept apart is an input by the name of its part already.
    authored = {made[one]: name for one, name in author_names(cell).items() if one in made}
    authored = {one: name for one, name in authored.items() if one.arguments and one not in hints}
    program = Program(dialect, roots, authored, hints, given, dict(cell.constants))
    return Parts(
        cell,
        tuple(from_x),
        tuple(from_h),
        both,
        joined,
        tuple(own),
        program,
        frozenset(leaves & set(cell.states)),
    )
