"""A step in JAX's operators."""

from __future__ import annotations

from collections.abc import Callable

from ..cells.language import VARIANCE, Cell, Expression, is_constant
from .program import Dialect, docstring, parts, taken

_NORM = f'''

def norm(x):
    """x [B, H] normalised over its units."""
    x = x - x.mean(1, keepdims=True)
    return x * lax.rsqrt((x * x).mean(1, keepdims=True) + {VARIANCE})
'''


def _special(one: Expression, text: Callable[[Expression], str]) -> str | None:
    if one.operation in ("maximum", "minimum"):
        (a, b), largest = one.arguments, one.operation == "maximum"
        if largest and is_constant(a, 0.0):
            return f"nn.relu({text(b)})"
        # Where both are equal, the gradient is the first one's, as the language's: jnp's is half of it.
        if is_constant(a) or is_constant(b):
            return (
                f"jnp.where({text(a)} {'>' if largest else '<'}= {text(b)}, {text(a)}, {text(b)})"
            )
        return f"jnp.{one.operation}({text(a)}, {text(b)})"
    return None


DIALECT = Dialect(
    calls={
        **{name: f"jnp.{name}({{}})" for name in ("tanh", "exp", "log", "sqrt", "sin", "cos")},
        **{"sigmoid": "nn.sigmoid({})", "softplus": "nn.softplus({})", "norm": "norm({})"},
        **{"absolute": "jnp.abs({})", "sign": "jnp.sign({})"},
        "where": "jnp.where({}, {}, {})",
    },
    mask="({}).astype({}.dtype)",
    special=_special,
    reserved=(
        "jnp",
        "nn",
        "lax",
        "norm",
        "step",
        "from_input",
        "states",
        "w_recurrent",
        "own",
        "size",
    ),
)


def _unpacked(names: tuple[str, ...], value: str) -> str:
    if len(names) == 1:
        return f"{names[0]} = {value}"
    return f"{', '.join(names)} = jnp.split({value}, {len(names)}, axis=1)"


def written(cell: Cell, origin: str) -> str:
    """See `generate`."""
    found = parts(cell, DIALECT, slices=True)
    statements, results = found.program.lines()
    body = []
    if found.states:
        single = len(cell.states) == 1
        body.append(f"({found.states},) = states" if single else f"{found.states} = states")
    if found.own:
        body.append(taken(found.own, "own"))
    h = found.program.given[cell.states[0]]
    product = f"{h} @ w_recurrent"
    sums = found.sums(f"{h}.shape[1]", lambda part: f"{part} + {product}", product, _unpacked)
    body += [*sums, *statements, f"return [{', '.join(results)}]"]
    text = "\n".join(body)
    head = docstring(
        f"A step of `{cell.name}`, as {origin} has it.",
        "from_input [B, gates that read x * H]: the input's products, with the biases; states: a list, [B, H] each, the output "
        f"first; w_recurrent [H, gates that read h * H]; own: {found.own_text}.",
    )
    normed = "norm(" in text
    names = [name for name, used in (("lax", normed), ("nn", "nn." in text)) if used]
    imports = f"from jax import {', '.join(names)}\n" if names else ""
    imports += "from jax import numpy as jnp\n" if "jnp." in text else ""
    indented = "".join(f"    {line}\n" for line in body)
    return (
        f"{head}{chr(10) if imports else ''}{imports}{_NORM if normed else ''}\n\n"
        f"def step(from_input, states, w_recurrent, own):\n{indented}"
    )
