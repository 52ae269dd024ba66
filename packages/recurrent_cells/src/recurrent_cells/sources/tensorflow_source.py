"""A step in TensorFlow's operators, made once a layer."""

from __future__ import annotations

from collections.abc import Callable

from ..cells.language import VARIANCE, Cell, Expression, is_constant
from .program import Dialect, Parts, docstring, parts, taken

_STACKED = "[D + H, gates * H], the weights of x above those of h"
_PAIR = "the pair of [D, gates that read x * H] and [H, gates that read h * H]"

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
    ),
)


def _sums(found: Parts) -> tuple[list[str], list[str]]:
    """What is done once, and the statements of a step."""
    cell, h = found.cell, found.program.given[found.cell.states[0]]
    if found.both:
        value = f"tf.nn.bias_add(tf.matmul(tf.concat([x_t, {h}], axis=1), w), bias)"
        return [], [_unpacked(found.from_x, value)]
    if cell.x_gates == cell.h_gates:
        once = [
            f"hidden = w.shape.as_list()[1] // {len(cell.gates)}",
            "w_input, w_recurrent = tf.split(w, [w.shape.as_list()[0] - hidden, hidden])",
        ]
    else:
        once = ["w_input, w_recurrent = w" if found.from_h else "w_input, _ = w"]
    lines = [_unpacked(found.from_x, "tf.nn.bias_add(tf.matmul(x_t, w_input), bias)")]
    if found.from_h:
        lines.append(_unpacked(found.from_h, f"tf.matmul({h}, w_recurrent)"))
    return once, lines


def _unpacked(names: tuple[str, ...], value: str) -> str:
    if len(names) == 1:
        return f"{names[0]} = {value}"
    return f"{', '.join(names)} = tf.split({value}, {len(names)}, axis=1)"


def written(cell: Cell, origin: str) -> str:
    """See `generate`."""
    found = parts(cell, DIALECT, slices=False)
    statements, results = found.program.lines()
    once, sums = _sums(found)
    if found.own:
        once.append(taken(found.own, "own"))
    body = []
    if found.states:
        single = len(cell.states) == 1
        body.append(f"({found.states},) = states" if single else f"{found.states} = states")
    body += [*sums, *statements, f"return [{', '.join(results)}]"]
    w = _STACKED if cell.x_gates == cell.h_gates else _PAIR
    head = docstring(
        f"A step of `{cell.name}`, as {origin} has it.",
        f"w {w}; bias [gates that read x * H]; own: {found.own_text}. x_t [B, D]; states: a list, [B, H] each, the output first.",
    )
    head += "\nimport tensorflow as tf\n"
    before = "".join(f"    {line}\n" for line in once) + ("\n" if once else "")
    indented = "".join(f"        {line}\n" for line in body)
    for called, helper in (("norm", _NORM), ("norm_alone", _NORM_ALONE)):
        head += helper if any(f"{called}(" in line for line in body) else ""
    return (
        f"{head}\n\ndef cell(w, bias, own):\n{before}"
        f"    def step(x_t, states):\n{indented}\n    return step\n"
    )
