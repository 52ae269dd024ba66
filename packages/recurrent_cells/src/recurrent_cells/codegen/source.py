"""The C of a cell: its facts as macros and its update as functions of vectors, before the parts that all cells share."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..cells.derivative import OTHER, Backward, backward, gradient_name
from ..cells.language import PRODUCTS, Cell, Expression, in_order, is_constant, named
from ..cells.phases import Multiplied, Phase, backward_phases, forward_phases, products_of_gradients
from ..cells.simplify import lowered, scales
from . import heads
from .library import CompilerError

SHARED = (
    *("vector.h", "numbers.h", "tiles.h", "products.h", "layer.c", "packing.c"),
    *("norms.c", "matrices.c", "heads.c", "forward.c", "backward.c"),
)
"""The files that all cells share, in order; a cell's own part follows the second one."""

OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}

FUNCTIONS = {
    "exp2": "exp2_limited",
    "exp2_minus_1": "exp2_minus_1",
    "exponential2": "exp2_of",
    "log": "log_of",
    "sqrt": "sqrt_of",
    "sin": "sin_of",
    "cos": "cos_of",
    "softplus": "softplus",
    "absolute": "absolute",
    "sign": "sign_of",
    "maximum": "maximum",
    "minimum": "minimum",
    "at_least": "at_least",
    "where": "where",
}
"""What operations are called in vector.h."""


def c_source(cell: Cell, half: bool = False, int8: bool = False) -> str:
    """One C file that computes layers of the cell; it wants nothing but a C compiler with vector extensions.

    half: x, y, the weights and what is multiplied by them are bfloat16; sums, states and updates stay float32.
    int8: products alone are of bytes, forward only.
    """
    if half and not has_bfloat16(cell):
        raise CompilerError(f"cell {cell.name}: bfloat16 kernels have neither heads nor matrices")
    if int8 and (cell.heads > 1 or cell.of_heads):
        raise CompilerError(f"cell {cell.name}: int8 kernels have no heads")
    here = Path(__file__).parent
    omitted = [*["backward.c"] * int8, *["tiles.h"] * (not (half or int8))]
    names = [name for name in SHARED if name not in omitted]
    shared = [(here / name).read_text() for name in names]
    macros = {"HALF": half, "INT8": int8, "LIBRARY": True, "TRAINING": not int8}
    return "\n".join(
        [
            *(f"#define {name} {int(value)}" for name, value in macros.items()),
            *shared[:2],
            cell_source(cell, training=not int8),
            *shared[2:],
        ]
    )


def has_bfloat16(cell: Cell) -> bool:
    """Whether there are bfloat16 kernels of a cell."""
    return not (cell.heads > 1 or cell.matrices or cell.of_heads)


def unsupported(cell: Cell) -> str:
    """Why no C can be generated of a cell; empty where it can."""
    if bool(cell.norms) + bool(cell.matrices) + cell.of_heads > 1:
        return "generated C has norm, matrices, or matrix states and sums of heads, not two of them"
    return ""


def cell_source(cell: Cell, training: bool = True) -> str:
    """The part that is the cell's own; training: also what backward is of."""
    norms = cell.norms
    if told := unsupported(cell):
        raise CompilerError(f"cell {cell.name}: {told}")
    if cell.of_heads:
        return "\n".join(_of_heads(cell, training)) + "\n"
    rules = _without_sources(backward(cell))
    kept = {**cell.outputs, **rules.kept}
    multiplied = products_of_gradients(rules)
    inputs = _places([one.name for one in cell.sums], cell.states, cell.vectors)
    means = [f"{name}_{n}" for n in range(len(norms)) for name in ("inverse", "offset")]
    arguments = [f"argument_{n}" for n in range(len(norms))]
    ahead = _places(inputs, means, arguments, _numbered(cell.products))
    flows = [gradient_name(name) for name in cell.states]
    of_backward = _places(rules.kept, flows, cell.vectors, rules.inverses)
    means = [f"{name}_{n}" for n in range(len(norms)) for name in ("first", "second")]
    of_backward = _places(of_backward, means, arguments, _numbered(multiplied))
    results = [one.name for one in cell.sums] + [*cell.states, *cell.vectors]
    first, second = forward_phases(cell, cell.outputs), backward_phases(cell, rules)
    whole = forward_phases(cell, kept)[-1].wanted
    lines = [*_facts(cell, len(rules.kept) if training else 0, len(multiplied))]
    if cell.products:
        products = _products(cell, rules, [phase.products for phase in first], multiplied)
        lines += products if training else products[:1]
    if norms or cell.products:
        lines += _phases("forward", cell, first, ahead, [one.name for one in cell.sums])
    lines += _function("update", _lowered(cell, first[-1].wanted, False), ahead, list(cell.states))
    if not training:
        return "\n".join([*lines, "#define update_and_keep update", ""])
    if norms or cell.products:
        lines += _phases("backward", None, second, of_backward, list(rules.kept))
    lines += _function("update_and_keep", _lowered(cell, whole, True), ahead, list(kept))
    lines += _function("gradient", second[-1].wanted, of_backward, results)
    return "\n".join(lines) + "\n"


def _of_heads(cell: Cell, training: bool) -> list[str]:
    """See heads.py and heads.c."""
    outputs = {name: cell.outputs[name] for name in cell.vector_states}
    squares = {name: cell.outputs[name] for name in cell.squares}
    flows = [gradient_name(name) for name in cell.squares]
    sums = [one.name for one in cell.sums]
    ahead, final, known = heads.phases(outputs, squares)
    rules = heads.kept(cell, known)
    behind, gradients, more = heads.phases(rules.gradients, rules.new_gradients)
    again, _, _ = heads.phases({}, rules.new)
    lines = _facts(cell, len(rules.kept) if training else 0, 0)
    counts = [len(phase.arguments) for phase in (*ahead, *behind, *again)]
    along = [len(phase.mixing) for phase in (*ahead, *behind)]
    macros = {"ARGUMENTS": counts, "ALONG": along, "MIXES": [len(known), len(more)]}
    lines += [f"#define {name} {max([1, *values])}" for name, values in macros.items()]
    inputs = _places(sums, cell.vector_states, cell.vectors, _numbered(known))
    lines += _head_phases("forward", ahead, inputs, cell)
    lines += _function("update", _lowered(cell, final, False), inputs, list(outputs))
    if training:
        whole = _lowered(cell, {**final, **rules.kept}, True)
        lines += _function("update_and_keep", whole, inputs, [*outputs, *rules.kept])
    else:
        lines.append("#define update_and_keep update")
    lines.append((Path(__file__).parent / "heads.h").read_text())
    lines += heads.mixed("forward", ahead, [*squares], [*squares])
    if not training:
        return lines
    of_states = [gradient_name(name) for name in cell.vector_states]
    inputs = _places(rules.kept, of_states, cell.vectors, _numbered(more))
    lines += _head_phases("backward", behind, inputs, cell)
    lines += _head_phases("again", again, inputs, cell)
    results = [*sums, *cell.vector_states, *cell.vectors]
    lines += _function("gradient", _lowered(cell, gradients, True), inputs, results)
    lines += heads.mixed("backward", behind, [*squares, *flows], [*squares])
    return [*lines, *heads.mixed("again", again, [*squares], [*squares])]


def _head_phases(
    kind: str, phases: Sequence[heads.Phase], inputs: Mapping[str, int], cell: Cell
) -> list[str]:
    """`<kind>_phase`, which computes what sums over heads and products with matrices are of."""
    lines = [f"#define {kind.upper()}_PHASES {len(phases)}"]
    lines.append(
        f"#define EACH_{kind.upper()}(DO) " + " ".join(f"DO({n})" for n in range(len(phases)))
    )
    lines.append(
        f"INLINE void {kind}_phase(const int phase, const vec *in, float *to, long stride) {{"
    )
    for number, phase in enumerate(phases):
        wanted = {f"argument_{n}": one for n, one in enumerate(phase.arguments)}
        body, found = _body(_lowered(cell, wanted, True), inputs)
        lines += [f"  if (phase == {number}) {{", *body]
        lines += [f"  store(to + {name[9:]} * stride, {value});" for name, value in found.items()]
        lines.append("  }")
    return [*lines, "  (void)in, (void)to, (void)stride;", "}"]


def _places(*names: Sequence[str] | Mapping[str, object]) -> dict[str, int]:
    """Where each value stands in what a function is given."""
    return {name: place for place, name in enumerate(name for own in names for name in own)}


def _transposes(cell: Cell) -> bool:
    return any(one.operation == "product_transposed" for one in cell.products)


def _numbered(products: Sequence[Expression]) -> list[str]:
    return [f"product_{n}" for n in range(len(products))]


def _without_sources(rules: Backward) -> Backward:
    """Without what is kept for the matrices' gradients alone: the tape has it as it was multiplied."""
    read = {one.value for one in in_order(rules.gradients.values()) if one.operation == "input"}
    kept = {name: one for name, one in rules.kept.items() if name in read}
    return replace(rules, kept=kept)


def _products(
    cell: Cell, rules: Backward, ahead: list[list[Multiplied]], multiplied: list[Expression]
) -> list[str]:
    """Of each product its phase, its matrix's column and whether that is transposed; and of each gradient of a matrix: the
    numbers of forward's product and of backward's, the column, whether it is transposed, and whether it is added."""
    columns = {name: len(cell.h_gates) + n for n, name in enumerate(cell.matrices)}
    behind = [phase.products for phase in backward_phases(cell, rules)]
    lines = []
    for kind, phases in (("FORWARD", ahead), ("BACKWARD", behind)):
        rows = {
            one.number: f"{{{place}, {columns[one.matrix]}, {int(one.transposed)}}}"
            for place, phase in enumerate(phases)
            for one in phase
        }
        told = _list(rows[n] for n in range(len(rows)))
        lines.append(f"static const int {kind}_PRODUCTS[][3] = {{{told}}};")
    rows, before = [], set()
    # Those that are written at once come first; what goes by way of `turned` is added to them.
    for number, one in sorted(enumerate(rules.products), key=lambda pair: pair[1].transposed):
        operation = PRODUCTS[one.transposed]
        above = Expression.of(OTHER[operation], one.gradient, named(one.matrix))
        places = number, multiplied.index(above), columns[one.matrix], int(one.transposed)
        rows.append(f"{{{_list((*places, int(one.matrix in before)))}}}")
        before.add(one.matrix)
    return [*lines, f"static const int GRADIENT_PRODUCTS[][5] = {{{_list(rows)}}};"]


def _facts(cell: Cell, kept: int, multiplied: int) -> list[str]:
    names = [one.name for one in cell.sums]
    gates = [name.partition(".")[0] for name in names]
    first_h = len(names) - cell.h_sums
    bias = [cell.declared_sums.index(name) for name in names]
    x = [cell.x_gates.index(gate) if n < cell.x_sums else 0 for n, gate in enumerate(gates)]
    h = [cell.h_gates.index(gate) if n >= first_h else 0 for n, gate in enumerate(gates)]
    scale = scales(cell)
    output = named(cell.states[0])
    macros = {
        "SUMS": len(names),
        "X_SUMS": cell.x_sums,
        "H_SUMS": cell.h_sums,
        "STATES": len(cell.vector_states),
        "SQUARES": len(cell.squares),
        "OF_HEADS": int(cell.of_heads),
        "VECTORS": len(cell.vectors),
        "KEPT": kept,
        "NORMS": len(cell.norms),
        "HEADS": cell.heads,
        "COLUMNS": cell.columns,
        "PRODUCTS": len(cell.products),
        "BACK_PRODUCTS": multiplied,
        "TURNED": len(cell.products) * (cell.heads > 1 or _transposes(cell)),
        "PROJECTED": int(cell.projected),
        "READS_OUTPUT": int(output in in_order(cell.outputs.values())),
    }
    # As kernels have them: those with one value per unit first.
    starts = [_number(cell.start(name)) for name in (*cell.vector_states, *cell.squares)]
    lines = [
        f"/* {cell.name}: states {', '.join(cell.states)}; sums in order: {', '.join(names)}",
        "   vectors: " + (", ".join(cell.vectors) or "none") + " */",
        *(f"#define {name} {value}" for name, value in macros.items()),
        *_passes(len(names)),
        "/* Of each sum: its gate's column in x's matrix and in h's, its place in the bias, what its weights are scaled by */",
        f"static const int X_COLUMN[] = {{{_list(x)}}}, H_COLUMN[] = {{{_list(h)}}}, BIAS_PLACE[] = {{{_list(bias)}}};",
        f"static const float SCALE[] = {{{_list(_number(scale[name]) for name in names)}}};",
        f"static const float START[] = {{{_list(starts)}}};",
        "",
    ]
    return lines


def _list(values: object) -> str:
    return ", ".join(map(str, values))  # type: ignore[call-overload]


def _number(value: float) -> str:
    """A float literal of C that reads as the same float32."""
    return f"{value:.9g}f" if any(c in f"{value:.9g}" for c in ".en") else f"{value:.9g}.0f"


def _passes(sums: int) -> list[str]:
    """EACH_PASS(DO): DO(from, to) for each group of sums whose blocks fit in the registers."""
    lines = []
    for word, most in (("#if REGISTERS == 32", 4), ("#else", 2)):
        count = -(-sums // most)
        edges = [sums * n // count for n in range(count + 1)]
        calls = " ".join(f"DO({a}, {b})" for a, b in itertools.pairwise(edges))
        lines += [word, f"#define EACH_PASS(DO) {calls}"]
        lines.append(
            f"#define WIDE {max(1, most // sums)} /* vectors of hidden units in a block */"
        )
    return [*lines, "#endif"]


def _lowered(cell: Cell, wanted: Mapping[str, Expression], single: bool) -> dict[str, Expression]:
    """In the operations of vector.h."""
    found: dict[str, Expression] = {}
    for stage in lowered(cell, dict(wanted), single):
        found |= stage.results
    return found


def _phases(
    kind: str,
    cell: Cell | None,
    phases: Sequence[Phase],
    inputs: Mapping[str, int],
    names: list[str],
) -> list[str]:
    """`<kind>_phase`, which computes what norms are of, and of each norm its phase and its source: a sum or -1, or what it is
    multiplied by."""
    norms: dict[int, str] = {}
    lines = [f"INLINE void {kind}_phase(int phase, const vec *in, float *argument, long stride) {{"]
    for place, phase in enumerate(phases[:-1]):
        for one in phase.moments:
            other = one.source if kind == "forward" else one.other
            norms[one.number] = f"{{{place}, {names.index(other) if other in names else -1}}}"
        if phase.wanted:
            wanted = _lowered(cell, phase.wanted, False) if cell else phase.wanted
            body, found = _body(wanted, inputs)
            lines += [f"  if (phase == {place}) {{", *(f"  {line}" for line in body)]
            for name, value in found.items():
                number = name.rpartition("_")[2]
                lines.append(f"    store(argument + {number} * stride, {value});")
            lines.append("  }")
    ordered = _list(norms[number] for number in range(len(norms)))
    upper = kind.upper()
    head = [f"#define {upper}_PHASES {len(phases)}"]
    if norms:
        head.append(f"static const int {upper}_NORMS[][2] = {{{ordered}}};")
    return [*head, *lines, "}", ""]


def _function(
    name: str, wanted: Mapping[str, Expression], inputs: Mapping[str, int], results: Sequence[str]
) -> list[str]:
    """A function of vectors; in: in the order of `inputs`, out: of `results`."""
    body, found = _body(wanted, inputs)
    lines = [f"INLINE void {name}(const vec *in, vec *out) {{", *body]
    lines += [f"  out[{place}] = {found[one]};" for place, one in enumerate(results)]
    return [*lines, "}", ""]


def _body(
    wanted: Mapping[str, Expression], inputs: Mapping[str, int]
) -> tuple[list[str], dict[str, str]]:
    """Statements, and what each wanted value is called then."""
    lines: list[str] = []
    called: dict[Expression, str] = {}
    for one in in_order(wanted.values()):
        if one.operation == "constant":
            called[one] = f"all({_number(one.value)})"
            continue
        called[one] = f"v{len(lines)}"
        lines.append(f"  const vec {called[one]} = {_value(one, called, inputs)};")
    return lines, {name: called[one] for name, one in wanted.items()}


def _value(one: Expression, called: Mapping[Expression, str], inputs: Mapping[str, int]) -> str:
    if one.operation == "input":
        return f"in[{inputs[one.value]}] /* {one.value} */"
    if one.operation in OPERATORS:
        # A number beside a vector needs no vector of its own.
        given = [
            _number(each.value) if is_constant(each) else called[each] for each in one.arguments
        ]
        return f"{given[0]} {OPERATORS[one.operation]} {given[1]}"
    return f"{FUNCTIONS[one.operation]}({', '.join(called[each] for each in one.arguments)})"
