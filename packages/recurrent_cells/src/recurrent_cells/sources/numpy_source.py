"""A step in NumPy, and its gradient by the chain rule, last value first: the reference of a cell without one by hand.

The rules are `PARTIALS`, the way is another than the kernels': no vertex is eliminated, nothing is kept but what came in.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ..cells.derivative import OTHER, PARTIALS
from ..cells.language import (
    OF_HEADS,
    PRODUCTS,
    VARIANCE,
    Cell,
    Expression,
    constant,
    in_order,
    is_constant,
    named,
)
from .program import Dialect, Program, author_names, headed, rewritten

_FUNCTIONS = {
    "sigmoid": """def sigmoid(x):
    return 0.5 * (1.0 + np.tanh(0.5 * x))
""",
    "softplus": """def softplus(x):
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))
""",
    "norm": '''def norm(x):
    """x [B, H] normalised over its units."""
    return (x - x.mean(-1, keepdims=True)) * inverse(x)
''',
    "inverse": f'''def inverse(x):
    """One over the deviation of the units of x [B, H]: [B, 1]."""
    return 1.0 / np.sqrt(x.var(-1, keepdims=True) + {VARIANCE})
''',
    "norm_gradient": '''def norm_gradient(d_y, y, inverse):
    """Of what was normalised to y, from that of y."""
    return inverse * (d_y - d_y.mean(-1, keepdims=True) - y * (d_y * y).mean(-1, keepdims=True))
''',
    "by_heads": '''def by_heads(x, w):
    """x [B, H] times a block-diagonal matrix: w [H, H / heads] has its blocks one below the other."""
    heads = x.reshape(len(x), -1, w.shape[1]).transpose(1, 0, 2)
    return (heads @ w.reshape(-1, w.shape[1], w.shape[1])).transpose(1, 0, 2).reshape(x.shape)
''',
    "by_heads_transposed": '''def by_heads_transposed(x, w):
    """x [B, H] times the transpose of `by_heads`'s matrix."""
    heads = x.reshape(len(x), -1, w.shape[1]).transpose(1, 0, 2)
    blocks = w.reshape(-1, w.shape[1], w.shape[1]).swapaxes(1, 2)
    return (heads @ blocks).transpose(1, 0, 2).reshape(x.shape)
''',
    "weight_gradient": '''def weight_gradient(x, d, heads):
    """The gradient of `by_heads`'s w, of x [B, H] and that of what came out."""
    x, d = (each.reshape(len(each), heads, -1).transpose(1, 0, 2) for each in (x, d))
    return (x.swapaxes(1, 2) @ d).reshape(-1, d.shape[2])
''',
    "outer": '''def outer(a, b, heads):
    """The matrices a b^T of each head: [B, H, H / heads]."""
    rows = b.reshape(len(b), heads, 1, -1).repeat(b.shape[1] // heads, 2)
    return a[:, :, None] * rows.reshape(len(b), b.shape[1], -1)
''',
    "scale_rows": """def scale_rows(a, c):
    return a[:, :, None] * c
""",
    "read": '''def read(c, x, heads):
    """The matrices [B, H, H / heads] times x [B, H], head by head."""
    c, x = c.reshape(len(c), heads, c.shape[2], -1), x.reshape(len(x), heads, -1, 1)
    return (c @ x).reshape(len(x), -1)
''',
    "read_transposed": '''def read_transposed(c, x, heads):
    """Their transposes times x."""
    c, x = c.reshape(len(c), heads, c.shape[2], -1), x.reshape(len(x), heads, 1, -1)
    return (x @ c).reshape(len(x), -1)
''',
    "row_dot": """def row_dot(c, d):
    return (c * d).sum(2)
""",
    "head_sum": '''def head_sum(a, heads):
    """The sum over the units of a head, for each of them."""
    return a.reshape(len(a), heads, -1).sum(2).repeat(a.shape[1] // heads, 1)
''',
    "head_mean": """def head_mean(a, heads):
    return a.reshape(len(a), heads, -1).mean(2).repeat(a.shape[1] // heads, 1)
""",
    "filled": """def filled(values, like):
    likes = like if isinstance(like, tuple) else [like] * len(values)
    return [np.broadcast_to(value, each.shape) for value, each in zip(values, likes)]
""",
}

DIALECT = Dialect(
    calls={
        **{
            name: f"np.{name}({{}})"
            for name in ("tanh", "exp", "log", "sqrt", "sin", "cos", "sign")
        },
        **{"sigmoid": "sigmoid({})", "softplus": "softplus({})", "norm": "norm({})"},
        **{"absolute": "np.abs({})", "inverse": "inverse({})"},
        **{"maximum": "np.maximum({}, {})", "minimum": "np.minimum({}, {})"},
        "row_dot": "row_dot({}, {})",
        **{"where": "np.where({}, {}, {})", "norm_gradient": "norm_gradient({}, {}, {})"},
    },
    mask="np.where({}, 1.0, 0.0)",
    special=lambda one, text: None,
    reserved=("np", *_FUNCTIONS, "step", "gradient", "sums", "vectors", "states", "tape", "like"),
)

_HEAD = '''"""{doc}

A step takes its sums, vectors and states, [B, H] or [H] each, and gives the new states and what its gradient needs; that gives
the gradients of the sums, of the vectors (summed over the batch) and of the old states, as far as these do not come through
sums. Matrices, [H, H / heads] each, come after the vectors. CELL: the cell as data.
"""

import numpy as np

CELL = {cell}
'''


def _dialect(cell: Cell) -> Dialect:
    dialect = headed(DIALECT, cell, "np.dot({}, {})", "np.dot({}, np.transpose({}))")
    gradient = "np.dot(np.transpose({}), {})" if cell.heads == 1 else "weight_gradient({}, {}, {})"
    return replace(dialect, calls={**dialect.calls, "weight_gradient": gradient})


def facts(cell: Cell) -> dict[str, object]:
    """What measurement.cells.Cell is made of."""
    return {
        "gates": cell.gates,
        "biases": cell.declared_sums,
        "states": cell.states,
        "vectors": cell.vectors,
        "around": tuple(cell.around),
        "keeps": None,
        "takes": None,
        "starts": tuple(map(cell.start, cell.states)),
        "of_x": cell.x_gates,
        "of_h": cell.h_gates,
        "heads": cell.heads,
        "matrices": cell.matrices,
        "squares": cell.squares,
    }


def gradients(cell: Cell) -> dict[str, Expression]:
    """The gradient of every sum, vector, matrix and old state, from `d_<state>`, as the chain rule says."""
    adjoints: dict[Expression, Expression] = {}
    for state, new in cell.outputs.items():
        adjoints[new] = adjoints.get(new, constant(0.0)) + named(f"d_{state}")
    for one in reversed(in_order(cell.outputs.values())):
        own = adjoints.get(one)
        if own is None or one.operation in ("input", "constant"):
            continue
        if one.operation == "norm":
            inverse = Expression.of("inverse", *one.arguments)
            flows = [Expression.of("norm_gradient", own, one, inverse)]
        elif one.operation in PRODUCTS:
            value, matrix = one.arguments
            pair = (own, value) if one.operation == "product_transposed" else (value, own)
            heads = constant(float(cell.heads))
            flow = Expression.of(OTHER[one.operation], own, matrix)
            flows = [flow, Expression.of("weight_gradient", *pair, heads)]
        elif one.operation in OF_HEADS:
            flows = _flows(one, own)
        else:
            rules = PARTIALS[one.operation](one, *one.arguments)
            flows = [constant(0.0) if rule is None else own * rule for rule in rules]
        for argument, flow in zip(one.arguments, flows, strict=True):
            if not is_constant(argument) and not is_constant(flow, 0.0):
                adjoints[argument] = adjoints.get(argument, constant(0.0)) + flow
    names = (*cell.declared_sums, *cell.vectors, *cell.matrices, *cell.states)
    return {name: adjoints.get(named(name), constant(0.0)) for name in names}


def _flows(one: Expression, own: Expression) -> list[Expression]:
    """The gradients of the arguments of an operation of OF_HEADS, from its own."""
    a, b = one.arguments[:2]
    heads = one.arguments[-1]
    of, none = Expression.of, constant(0.0)
    if one.operation in ("head_sum", "head_mean"):
        return [of(one.operation, own, heads), none]
    if one.operation == "outer":
        return [of("read", own, b, heads), of("read_transposed", own, a, heads), none]
    if one.operation == "scale_rows":
        return [of("row_dot", own, b), of("scale_rows", a, own)]
    if one.operation == "read":
        return [of("outer", own, b, heads), of("read_transposed", a, own, heads), none]
    return [of("outer", b, own, heads), of("read", a, own, heads), none]


def _variables(cell: Cell) -> dict[str, str]:
    given: dict[str, str] = {}
    for name in (*cell.declared_sums, *cell.vectors, *cell.matrices, *cell.states):
        own = name.replace(".", "_")
        while own in DIALECT.reserved or own in given.values():
            own += "_"
        given[name] = own
    return given


def _unpacked(names: list[str], value: str) -> str:
    return f"({names[0]},) = {value}" if len(names) == 1 else f"{', '.join(names)} = {value}"


def _listed(texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _begin(cell: Cell, given: dict[str, str]) -> list[str]:
    weights = cell.vectors + cell.matrices
    groups = (("sums", cell.declared_sums), ("vectors", weights), ("states", cell.states))
    return [_unpacked([given[name] for name in names], value) for value, names in groups if names]


def _step(cell: Cell, given: dict[str, str]) -> list[str]:
    roots, made = rewritten(cell.outputs.values(), {}, cell.vectors, affine=False)
    names = {
        made[one]: n for one, n in author_names(cell).items() if one in made and made[one].arguments
    }
    statements, results = Program(
        _dialect(cell), roots, names, {}, given, dict(cell.constants)
    ).lines()
    new = [
        f"{text} + 0.0 * {given[cell.states[0]]}" if not _full(root) else text
        for root, text in zip(roots, results, strict=True)
    ]
    return [*statements, f"return {_listed(new)}, tape"]


def _full(root: Expression) -> bool:
    """Whether a value is one of every row and unit, and not a number."""
    return any(one.operation == "input" for one in in_order([root]))


def _gradient(cell: Cell, given: dict[str, str]) -> list[str]:
    found = gradients(cell)
    own = {**given, **{f"d_{name}": f"d_{given[name]}" for name in cell.states}}
    hints = {one: f"d_{given[name]}" for name, one in reversed(found.items()) if one.arguments}
    hints.update(
        {
            one: name
            for one, name in author_names(cell).items()
            if one in set(in_order(found.values()))
        }
    )
    program = Program(_dialect(cell), list(found.values()), {}, hints, own, dict(cell.constants))
    statements, results = program.lines()
    sums, vectors = len(cell.declared_sums), len(cell.vectors)
    last = sums + vectors + len(cell.matrices)
    lines = [*statements]
    for name, texts in (
        ("d_sums", results[:sums]),
        ("d_vectors", results[sums : sums + vectors]),
        ("d_states", results[last:]),
    ):
        if not texts:
            lines.append(f"{name} = ()")
            continue
        likes = "states" if cell.squares and name == "d_states" else "like"
        value = f"{name} = filled({_listed(texts)}, {likes})"
        if len(value) > 110:
            value = (
                f"{name} = filled(\n    (\n"
                + "".join(f"        {t},\n" for t in texts)
                + f"    ),\n    {likes},\n)"
            )
        lines += value.split("\n")
    if vectors:
        lines.append("d_vectors = tuple(d.sum(0) for d in d_vectors)")
    if cell.matrices:
        lines.append(f"d_matrices = {_listed(results[sums + vectors : last])}")
        return [*lines, "return d_sums, d_vectors + d_matrices, d_states"]
    return [*lines, "return d_sums, d_vectors, d_states"]


def written(cell: Cell, origin: str) -> str:
    """See `generate`."""
    given = _variables(cell)
    step = [*_begin(cell, given), "tape = sums, vectors, states", *_step(cell, given)]
    like = f"like = {given[cell.declared_sums[0]]}"
    gradient = [
        "sums, vectors, states = tape",
        *_begin(cell, given),
        like,
        *_gradient(cell, given),
    ]
    text = "\n".join(step + gradient)
    used = [name for name in _FUNCTIONS if re.search(rf"\b{name}\(", text)]
    if "norm" in used and "inverse" not in used:
        used.append("inverse")
    functions = "".join(f"\n\n{_FUNCTIONS[name]}" for name in _FUNCTIONS if name in used)
    data = "{\n" + "".join(f'    "{k}": {v!r},\n' for k, v in facts(cell).items()) + "}"
    data = data.replace("'", '"')
    head = _HEAD.format(
        doc=f"A step of `{cell.name}`, as {origin} has it, and its gradient.", cell=data
    )
    d_states = ", ".join(f"d_{given[name]}" for name in cell.states)
    return (
        f"{head}{functions}\n\ndef step(sums, vectors, states):\n"
        + "".join(f"    {line}\n" for line in step)
        + f"\n\ndef gradient(tape, {d_states}):\n"
        + "".join(f"    {line}\n" for line in gradient)
    )
