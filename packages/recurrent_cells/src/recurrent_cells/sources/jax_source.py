"""A step in JAX's operators."""

from __future__ import annotations

from collections.abc import Callable

from ..cells.language import VARIANCE, Cell, Expression, is_constant
from .program import Dialect, columns, docstring, headed, helped, parts, taken

_NORM = f'''

def norm(x):
    """x [B, H] normalised over its units."""
    x = x - x.mean(1, keepdims=True)
    return x * lax.rsqrt((x * x).mean(1, keepdims=True) + {VARIANCE})
'''
_BY_HEADS = '''

def by_heads(x, w):
    """x [B, H] times n block-diagonal matrices, w [H, n * H / {heads}], whose rows have a head's blocks: [B, n * H]."""
    x = x.reshape(-1, {heads}, x.shape[1] // {heads})
    blocks = w.reshape({heads}, x.shape[2], -1, x.shape[2])
    return jnp.einsum("bhi,hinj->bnhj", x, blocks).reshape(x.shape[0], -1)
'''
_TRANSPOSED = '''

def by_heads_transposed(x, w):
    """x [B, H] times the transpose of a block-diagonal matrix."""
    x = x.reshape(-1, {heads}, x.shape[1] // {heads})
    blocks = w.reshape({heads}, x.shape[2], x.shape[2])
    return jnp.einsum("bhj,hij->bhi", x, blocks).reshape(x.shape[0], -1)
'''

_OF_HEADS = {
    "outer": '''def outer(a, b, heads):
    """The matrices a b^T of each head: [B, H, H / heads]."""
    rows = a.reshape(len(a), heads, -1, 1) * b.reshape(len(a), heads, 1, -1)
    return rows.reshape(len(a), a.shape[1], -1)
''',
    "scale_rows": """def scale_rows(a, c):
    return a[:, :, None] * c
""",
    "read": '''def read(c, x, heads):
    """The matrices [B, H, H / heads] times x [B, H], head by head."""
    square = c.reshape(len(x), heads, -1, c.shape[2])
    return jnp.einsum("bhij,bhj->bhi", square, x.reshape(len(x), heads, -1)).reshape(x.shape)
''',
    "read_transposed": '''def read_transposed(c, x, heads):
    """Their transposes times x."""
    square = c.reshape(len(x), heads, -1, c.shape[2])
    return jnp.einsum("bhij,bhi->bhj", square, x.reshape(len(x), heads, -1)).reshape(x.shape)
''',
    "head_sum": '''def head_sum(a, heads):
    """The sum over the units of a head, for each of them."""
    return jnp.repeat(a.reshape(len(a), heads, -1).sum(2), a.shape[1] // heads, axis=1)
''',
    "head_mean": """def head_mean(a, heads):
    return jnp.repeat(a.reshape(len(a), heads, -1).mean(2), a.shape[1] // heads, axis=1)
""",
}


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
        *_OF_HEADS,
        "by_heads",
        "by_heads_transposed",
    ),
)


def _unpacked(names: tuple[str, ...], value: str) -> str:
    if len(names) == 1:
        return f"{names[0]} = {value}"
    return f"{', '.join(names)} = jnp.split({value}, {len(names)}, axis=1)"


def written(cell: Cell, origin: str) -> str:
    """See `generate`."""
    dialect = headed(DIALECT, cell, "jnp.matmul({}, {})", "jnp.matmul({}, {}.T)")
    found = parts(cell, dialect, slices=True)
    statements, results = found.program.lines()
    body = []
    if found.states:
        single = len(cell.states) == 1
        body.append(f"({found.states},) = states" if single else f"{found.states} = states")
    if found.own:
        body.append(taken(found.own, "own"))
    h = found.program.given[cell.states[0]]
    product = f"by_heads({h}, w_recurrent)" if cell.heads > 1 else f"{h} @ w_recurrent"
    sums = found.sums(f"{h}.shape[1]", lambda part: f"{part} + {product}", product, _unpacked)
    body += [*sums, *statements, f"return [{', '.join(results)}]"]
    text = "\n".join(body)
    head = docstring(
        f"A step of `{cell.name}`, as {origin} has it.",
        "from_input [B, gates that read x * H]: the input's products, with the biases; states: a list, [B, H] each, the output "
        f"first; w_recurrent [H, {columns(cell)}]; own: {found.own_text}.",
    )
    normed = "norm(" in text
    names = [name for name, used in (("lax", normed), ("nn", "nn." in text)) if used]
    imports = f"from jax import {', '.join(names)}\n" if names else ""
    helpers = (_NORM if normed else "") + helped(text, _OF_HEADS)
    for name, helper in (("by_heads(", _BY_HEADS), ("by_heads_transposed(", _TRANSPOSED)):
        helpers += helper.format(heads=cell.heads) if name in text else ""
    imports += "from jax import numpy as jnp\n" if "jnp." in text + helpers else ""
    indented = "".join(f"    {line}\n" for line in body)
    return (
        f"{head}{chr(10) if imports else ''}{imports}{helpers}\n\n"
        f"def step(from_input, states, w_recurrent, own):\n{indented}"
    )
