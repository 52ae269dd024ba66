"""A step in TensorFlow's operators, made once a layer."""

from __future__ import annotations

from collections.abc import Callable

from ..cells.language import VARIANCE, Cell, Expression, is_constant
from .program import Dialect, Parts, columns, docstring, headed, helped, parts, taken

_STACKED = "[D + H, gates * H], the weights of x above those of h"
_PAIR = "the pair of [D, gates that read x * H] and [H, {}]"

_NORM = f'''

def norm(x):
    """x [B, H] normalised over its units."""
    mean, variance = tf.nn.moments(x, [1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + {VARIANCE})
'''
# Of the moments TensorFlow makes one operator with a gain and a shift, also where what is added is no shift [H] but another
# value of a batch of one row, [1, H], which that operator then refuses.
_NORM_ALONE = f'''

def norm_alone(x):
    """x [B, H] normalised over its units, without gain and shift."""
    x = x - tf.reduce_mean(x, 1, keepdims=True)
    return x * tf.math.rsqrt(tf.reduce_mean(x * x, 1, keepdims=True) + {VARIANCE})
'''
_BY_HEADS = '''

def by_heads(x, w):
    """x [B, H] times n block-diagonal matrices, w [H, n * H / {heads}], whose rows have a head's blocks: [B, n * H]."""
    size = w.shape.as_list()[0] // {heads}
    blocks = tf.reshape(w, [{heads}, size, -1])
    found = tf.matmul(tf.transpose(tf.reshape(x, [-1, {heads}, size]), [1, 0, 2]), blocks)
    found = tf.reshape(found, [{heads}, -1, w.shape.as_list()[1] // size, size])
    return tf.reshape(tf.transpose(found, [1, 2, 0, 3]), [-1, {heads} * w.shape.as_list()[1]])
'''
_TRANSPOSED = '''

def by_heads_transposed(x, w):
    """x [B, H] times the transpose of a block-diagonal matrix."""
    size = w.shape.as_list()[0] // {heads}
    blocks = tf.reshape(w, [{heads}, size, size])
    heads = tf.transpose(tf.reshape(x, [-1, {heads}, size]), [1, 0, 2])
    found = tf.matmul(heads, blocks, transpose_b=True)
    return tf.reshape(tf.transpose(found, [1, 0, 2]), [-1, {heads} * size])
'''

_OF_HEADS = {
    "outer": '''def outer(a, b, heads):
    """The matrices a b^T of each head: [B, H, H / heads]."""
    units = a.shape.as_list()[1]
    size = units // heads
    rows = tf.reshape(a, [-1, heads, size, 1]) * tf.reshape(b, [-1, heads, 1, size])
    return tf.reshape(rows, [-1, units, size])
''',
    "scale_rows": """def scale_rows(a, c):
    return tf.expand_dims(a, 2) * c
""",
    "read": '''def read(c, x, heads):
    """The matrices [B, H, H / heads] times x [B, H], head by head."""
    units, size = c.shape.as_list()[1:]
    square = tf.reshape(c, [-1, heads, size, size])
    return tf.reshape(tf.matmul(square, tf.reshape(x, [-1, heads, size, 1])), [-1, units])
''',
    "read_transposed": '''def read_transposed(c, x, heads):
    """Their transposes times x."""
    units, size = c.shape.as_list()[1:]
    square = tf.reshape(c, [-1, heads, size, size])
    return tf.reshape(tf.matmul(tf.reshape(x, [-1, heads, 1, size]), square), [-1, units])
''',
    "head_sum": '''def head_sum(a, heads):
    """The sum over the units of a head, for each of them."""
    units = a.shape.as_list()[1]
    found = tf.reduce_sum(tf.reshape(a, [-1, heads, units // heads]), 2, keepdims=True)
    return tf.reshape(tf.tile(found, [1, 1, units // heads]), [-1, units])
''',
    "head_mean": """def head_mean(a, heads):
    units = a.shape.as_list()[1]
    found = tf.reduce_mean(tf.reshape(a, [-1, heads, units // heads]), 2, keepdims=True)
    return tf.reshape(tf.tile(found, [1, 1, units // heads]), [-1, units])
""",
}


def _special(one: Expression, text: Callable[[Expression], str]) -> str | None:
    if one.operation == "maximum" and is_constant(one.arguments[0], 0.0):
        return f"tf.nn.relu({text(one.arguments[1])})"
    return None


DIALECT = Dialect(
    calls={
        **{name: f"tf.{name}({{}})" for name in ("sigmoid", "tanh", "exp", "sqrt", "sin", "cos")},
        **{"log": "tf.math.log({})", "softplus": "tf.nn.softplus({})", "norm": "norm_alone({})"},
        **{"absolute": "tf.abs({})", "sign": "tf.sign({})"},
        **{"maximum": "tf.maximum({}, {})", "minimum": "tf.minimum({}, {})"},
        "where": "tf.where({}, {}, {})",
    },
    mask="tf.cast({}, {}.dtype)",
    special=_special,
    reserved=(
        "tf",
        "norm",
        "norm_alone",
        "cell",
        "step",
        "x_t",
        "states",
        "w",
        "w_input",
        "w_recurrent",
        "bias",
        "own",
        "hidden",
        *_OF_HEADS,
        "by_heads",
        "by_heads_transposed",
    ),
)


def _sums(found: Parts) -> tuple[list[str], list[str]]:
    """What is done once, and the statements of a step."""
    cell, h = found.cell, found.program.given[found.cell.states[0]]
    of_x, of_h = "tf.nn.bias_add(tf.matmul(x_t, w_input), bias)", f"tf.matmul({h}, w_recurrent)"
    if cell.heads > 1:
        of_h = f"by_heads({h}, w_recurrent)"
    if found.both and not _stacked(cell):
        return ["w_input, w_recurrent = w"], [_unpacked(found.from_x, f"{of_x} + {of_h}")]
    if found.both:
        value = f"tf.nn.bias_add(tf.matmul(tf.concat([x_t, {h}], axis=1), w), bias)"
        return [], [_unpacked(found.from_x, value)]
    if _stacked(cell):
        once = [
            f"hidden = w.shape.as_list()[1] // {len(cell.gates)}",
            "w_input, w_recurrent = tf.split(w, [w.shape.as_list()[0] - hidden, hidden])",
        ]
    else:
        once = ["w_input, w_recurrent = w" if found.from_h else "w_input, _ = w"]
    lines = [_unpacked(found.from_x, of_x)]
    if found.from_h:
        lines.append(_unpacked(found.from_h, of_h))
    return once, lines


def _stacked(cell: Cell) -> bool:
    """Whether the weights of x and of h are given as one matrix."""
    return cell.x_gates == cell.h_gates and cell.heads == 1 and not cell.matrices


def _unpacked(names: tuple[str, ...], value: str) -> str:
    if len(names) == 1:
        return f"{names[0]} = {value}"
    return f"{', '.join(names)} = tf.split({value}, {len(names)}, axis=1)"


def written(cell: Cell, origin: str) -> str:
    """See `generate`."""
    dialect = headed(DIALECT, cell, "tf.matmul({}, {})", "tf.matmul({}, {}, transpose_b=True)")
    found = parts(cell, dialect, slices=False)
    statements, results = found.program.lines()
    once, sums = _sums(found)
    # In the step, which may give their names other values.
    body = [taken(found.own, "own")] if found.own else []
    if found.states:
        single = len(cell.states) == 1
        body.append(f"({found.states},) = states" if single else f"{found.states} = states")
    body += [*sums, *statements, f"return [{', '.join(results)}]"]
    w = _STACKED if _stacked(cell) else _PAIR.format(columns(cell))
    head = docstring(
        f"A step of `{cell.name}`, as {origin} has it.",
        f"w {w}; bias [gates that read x * H]; own: {found.own_text}. x_t [B, D]; states: a list, [B, H] each, the output first.",
    )
    head += "\nimport tensorflow as tf\n"
    before = "".join(f"    {line}\n" for line in once) + ("\n" if once else "")
    indented = "".join(f"        {line}\n" for line in body)
    for called, helper in (("norm", _NORM), ("norm_alone", _NORM_ALONE)):
        head += helper if any(f"{called}(" in line for line in body) else ""
    head += helped("\n".join(body), _OF_HEADS)
    for called, helper in (("by_heads", _BY_HEADS), ("by_heads_transposed", _TRANSPOSED)):
        used = any(f"{called}(" in line for line in body)
        head += helper.format(heads=cell.heads) if used else ""
    return (
        f"{head}\n\ndef cell(w, bias, own):\n{before}"
        f"    def step(x_t, states):\n{indented}\n    return step\n"
    )
