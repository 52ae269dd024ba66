"""The updates of cells with matrix states, or with sums over the units of a head, in phases.

A phase computes `arguments` unit by unit, then sums over heads and products with matrices, `product_<n>`. A phase's products are
one pass over the rows of each matrix, and the last of these passes writes the new matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..cells.language import Cell, Expression, in_order, named
from ..cells.phases import with_known
from ..sources.numpy_source import gradients

READS = ("read", "read_transposed", "row_dot")
SQUARE = ("outer", "scale_rows")
ELEMENTWISE = {"add": "+", "subtract": "-", "multiply": "*"}


@dataclass
class Phase:
    """mixing: {number: what is computed of arguments and matrices}; new: matrices that are written, by their names."""

    mixing: dict[int, Expression]
    new: dict[str, Expression] = field(default_factory=dict)

    @property
    def arguments(self) -> list[Expression]:
        """What is computed unit by unit."""
        found = {one.arguments[0]: 0 for one in self.mixing.values() if one.operation not in READS}
        for one in in_order([*self.mixing.values(), *self.new.values()]):
            if one.operation == "outer":
                found |= dict.fromkeys(one.arguments[:2])
            elif one.operation == "scale_rows":
                found[one.arguments[0]] = 0
            elif one.operation in ("read", "read_transposed"):
                found[one.arguments[1]] = 0
        return list(found)


def phases(
    wanted: Mapping[str, Expression], new: Mapping[str, Expression]
) -> tuple[list[Phase], dict[str, Expression], dict[Expression, Expression]]:
    """The phases before what is wanted, that of their products, and what each product is called."""
    ordered = in_order([*wanted.values(), *new.values()])
    mixing = [one for one in ordered if one.operation in (*READS, "head_sum", "head_mean")]
    waiting = dict.fromkeys(mixing)
    found: list[Phase] = []
    place: dict[Expression, int] = {}
    known: dict[Expression, Expression] = {}
    while waiting:
        ready = [one for one in waiting if not any(x in waiting for x in in_order(one.arguments))]
        own = {mixing.index(one): with_known(one, known) for one in ready}
        place |= dict.fromkeys(ready, len(found))
        found.append(Phase(own))
        for one in ready:
            del waiting[one]
        known |= {one: named(f"product_{mixing.index(one)}") for one in ready}
    if new:
        passes = [place[one] for one in mixing if one.operation in READS]
        after = [place[one] + 1 for one in in_order(new.values()) if one in place]
        last = max([0, *passes, *after])
        if last == len(found):
            found.append(Phase({}))
        found[last].new = {name: with_known(one, known) for name, one in new.items()}
    return found, {name: with_known(one, known) for name, one in wanted.items()}, known


@dataclass(frozen=True)
class Kept:
    """What forward keeps, of its final phase's inputs, and expressions of that: gradients, of sums, vectors and states,
    and the new matrices. Gradients of matrices are `new_gradients`."""

    kept: dict[str, Expression]
    gradients: dict[str, Expression]
    new_gradients: dict[str, Expression]
    new: dict[str, Expression]


def kept(cell: Cell, known: Mapping[Expression, Expression]) -> Kept:
    """known: forward's products."""
    inputs = [*(one.name for one in cell.sums), *cell.vector_states]
    tokens = {one: known.get(one, one) for one in (*map(named, inputs), *known)}
    called = {one: named(f"kept_{n}") for n, one in enumerate(tokens)}
    flows = {name: with_known(one, called) for name, one in gradients(cell).items()}
    new = {name: with_known(cell.outputs[name], called) for name in cell.squares}
    read = {one.value for one in in_order([*flows.values(), *new.values()])}
    return Kept(
        {called[one].value: value for one, value in tokens.items() if called[one].value in read},
        {name: one for name, one in flows.items() if name not in cell.squares},
        {name: flows[name] for name in cell.squares},
        new,
    )


def mixed(kind: str, found: list[Phase], matrices: list[str], written: list[str]) -> list[str]:
    """`<kind>_mix`, what follows the arguments of each phase. matrices: those that it reads, in the order of h->from; written:
    in the order of h->to."""
    lines, body = [], []
    for number, phase in enumerate(found):
        places = {one: place for place, one in enumerate(phase.arguments)}
        body.append(f"  if (phase == {number}) {{")
        for product, one in phase.mixing.items():
            if one.operation not in READS:
                mean = int(one.operation == "head_mean")
                body.append(f"    sum_heads(h, {places[one.arguments[0]]}, {product}, {mean});")
        reads = {k: one for k, one in phase.mixing.items() if one.operation in READS}
        if reads or phase.new:
            rows = f"{kind}_rows_{number}"
            own, columns = _rows(rows, reads, phase.new, places, matrices, written)
            lines += own
            across = [k for k, one in reads.items() if one.operation == "read_transposed"]
            along = [k for k in reads if k not in across]
            given = ", ".join(
                f"((const int[]){{{', '.join(map(str, [*each, -1]))}}}), {len(each)}"
                for each in (columns, along, across)
            )
            body.append(f"    OVER_MATRICES({rows}, {given})")
        body.append("  }")
    head = f"INLINE void {kind}_mix(const int phase, const Heads *h) {{"
    return [*lines, head, *body, "  (void)phase, (void)h;", "}"]


def _rows(
    name: str,
    reads: Mapping[int, Expression],
    new: Mapping[str, Expression],
    places: Mapping[Expression, int],
    matrices: list[str],
    written: list[str],
) -> tuple[list[str], list[int]]:
    """The function of some rows of a matrix, and the arguments that it reads by columns."""
    scaled: dict[int, str] = {}  # arguments that it reads by rows
    columns: dict[int, str] = {}
    called: dict[Expression, str] = {}
    body: list[str] = []

    def row(one: Expression) -> str:
        return scaled.setdefault(places[one], f"a{places[one]}") + "[r]"

    def column(one: Expression) -> str:
        return columns.setdefault(places[one], f"b{places[one]}")

    for one in _squares([*reads.values(), *new.values()], matrices):
        called[one] = f"v{len(called)}"
        given = [called.get(each, "") for each in one.arguments]
        if one.operation == "input":
            value = f"load(h->from[{matrices.index(one.value)}] + at)"
        elif one.operation == "outer":
            value = f"{row(one.arguments[0])} * {column(one.arguments[1])}"
        elif one.operation == "scale_rows":
            value = f"{row(one.arguments[0])} * {given[1]}"
        else:
            numbers = [
                f"{each.value!r}f" if each.operation == "constant" else own
                for each, own in zip(one.arguments, given, strict=True)
            ]
            value = f" {ELEMENTWISE[one.operation]} ".join(numbers)
        body.append(f"      const vec {called[one]} = {value};")
    along, across = [], []
    for one in reads.values():
        first, second = one.arguments[:2]
        if one.operation == "read_transposed":
            body.append(f"      t{len(across)} += {called[first]} * {row(second)};")
            across.append(f"t{len(across)}")
        else:
            other = column(second) if one.operation == "read" else called[second]
            body.append(f"      s{len(along)}[r] += {called[first]} * {other};")
            along.append(f"s{len(along)}")
    for state, one in new.items():
        value = called.get(one, "(vec){0}")  # no gradient flows back
        body.append(f"      store(h->to[{written.index(state)}] + at, {value});")
    count = len(columns)
    lines = [
        f"INLINE void {name}(const int R, const Heads *h, long first, const float *row, vec *along) {{",
        "  float *const across = h->columns + h->wide * " + str(count) + ";",
        *(f"  vec {one}[SOME_ROWS];" for one in (*scaled.values(), *along)),
        "  UNROLL for (int r = 0; r < R; r++) {",
        *(f"    {one}[r] = all(row[{n} * h->width + r]);" for n, one in scaled.items()),
        *(f"    {one}[r] = (vec){{0}};" for one in along),
        "  }",
        "  for (long j = 0; j < h->wide; j += LANES) {",
        *(
            f"    const vec {one} = load(h->columns + {n} * h->wide + j);"
            for n, one in enumerate(columns.values())
        ),
        *(f"    vec {one} = load(across + {n} * h->wide + j);" for n, one in enumerate(across)),
        "    UNROLL for (int r = 0; r < R; r++) {",
        "      const long at = first + r * h->wide + j;",
        *body,
        "    }",
        *(f"    store(across + {n} * h->wide + j, {one});" for n, one in enumerate(across)),
        "  }",
        "  UNROLL for (int r = 0; r < R; r++) {",
        *(f"    along[{n} * LANES + r] = {one}[r];" for n, one in enumerate(along)),
        "  }",
        "  (void)row, (void)along, (void)across;",
        "}",
    ]
    return lines, list(columns)


def _squares(roots: list[Expression], matrices: list[str]) -> Iterator[Expression]:
    """The matrices of which the roots are computed."""
    found: set[Expression] = set()
    for one in in_order(roots):
        part = one.operation in ELEMENTWISE and any(each in found for each in one.arguments)
        if one.operation in SQUARE or part or (one.operation == "input" and one.value in matrices):
            found.add(one)
            yield one
