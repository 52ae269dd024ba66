"""A step in PyTorch's operators, which TorchScript compiles too."""

from __future__ import annotations

from collections.abc import Callable

from ..cells.language import VARIANCE, Cell, Expression, is_constant
from .program import Dialect, columns, docstring, headed, helped, parts


def _special(one: Expression, text: Callable[[Expression], str]) -> str | None:
    if one.operation in ("maximum", "minimum"):
        return _of_two(one, text)
    if one.operation == "norm":
        return f"F.layer_norm({text(one.arguments[0])}, units)"
    if one.operation == "affine_norm":
        return f"F.layer_norm({text(one.arguments[0])}, units, {', '.join(map(text, one.arguments[1:]))})"
    return None


def _of_two(one: Expression, text: Callable[[Expression], str]) -> str:
    """Gradients of clamp go to its first argument where both are equal, as the language's do."""
    (a, b), largest = one.arguments, one.operation == "maximum"
    if largest and is_constant(a, 0.0):
        return f"torch.relu({text(b)})"
    if is_constant(b):
        return f"torch.clamp({text(a)}, {'min' if largest else 'max'}={text(b)})"
    if is_constant(a):
        sign = ">" if largest else "<"
        return f"torch.where({text(b)} {sign} {text(a)}, {text(b)}, {text(a)})"
    return f"torch.{'max' if largest else 'min'}({text(a)}, {text(b)})"


_BY_HEADS = '''

def by_heads(x: Tensor, w: Tensor) -> Tensor:
    """x [B, H] times n block-diagonal matrices, w [H, n * H / {heads}], whose rows have a head's blocks: [B, n * H]."""
    heads = x.reshape(x.size(0), {heads}, -1).transpose(0, 1)
    found = torch.bmm(heads, w.view({heads}, heads.size(2), -1)).view({heads}, x.size(0), -1, heads.size(2))
    return found.permute(1, 2, 0, 3).reshape(x.size(0), -1)
'''
_TRANSPOSED = '''

def by_heads_transposed(x: Tensor, w: Tensor) -> Tensor:
    """x [B, H] times the transpose of a block-diagonal matrix."""
    heads = x.reshape(x.size(0), {heads}, -1).transpose(0, 1)
    found = torch.bmm(heads, w.view({heads}, heads.size(2), -1).transpose(1, 2))
    return found.transpose(0, 1).reshape(x.size(0), -1)
'''

_OF_HEADS = {
    "outer": '''def outer(a: Tensor, b: Tensor, heads: int) -> Tensor:
    """The matrices a b^T of each head: [B, H, H / heads]."""
    batch, units = a.size()
    rows = a.reshape(batch, heads, -1, 1) * b.reshape(batch, heads, 1, -1)
    return rows.view(batch, units, -1)
''',
    "scale_rows": """def scale_rows(a: Tensor, c: Tensor) -> Tensor:
    return a.unsqueeze(2) * c
""",
    "read": '''def read(c: Tensor, x: Tensor, heads: int) -> Tensor:
    """The matrices [B, H, H / heads] times x [B, H], head by head."""
    square = c.reshape(x.size(0) * heads, -1, c.size(2))
    return torch.bmm(square, x.reshape(x.size(0) * heads, -1, 1)).view(x.size())
''',
    "read_transposed": '''def read_transposed(c: Tensor, x: Tensor, heads: int) -> Tensor:
    """Their transposes times x."""
    square = c.reshape(x.size(0) * heads, -1, c.size(2))
    return torch.bmm(x.reshape(x.size(0) * heads, 1, -1), square).view(x.size())
''',
    "head_sum": '''def head_sum(a: Tensor, heads: int) -> Tensor:
    """The sum over the units of a head, for each of them."""
    found = a.reshape(a.size(0), heads, -1).sum(2, keepdim=True)
    return found.expand(-1, -1, a.size(1) // heads).reshape(a.size())
''',
    "head_mean": """def head_mean(a: Tensor, heads: int) -> Tensor:
    found = a.reshape(a.size(0), heads, -1).mean(2, keepdim=True)
    return found.expand(-1, -1, a.size(1) // heads).reshape(a.size())
""",
}


DIALECT = Dialect(
    calls={
        **{name: f"torch.{name}({{}})" for name in ("sigmoid", "tanh", "exp", "log", "sqrt")},
        **{"sin": "torch.sin({})", "cos": "torch.cos({})", "softplus": "F.softplus({})"},
        **{"absolute": "torch.abs({})", "sign": "torch.sign({})"},
        "where": "torch.where({}, {}, {})",
    },
    mask="({}).to({}.dtype)",
    special=_special,
    reserved=(
        "torch",
        "F",
        "Tensor",
        "List",
        "step",
        "from_input",
        "states",
        "recurrent",
        "own",
        "units",
        *_OF_HEADS,
        "by_heads",
        "by_heads_transposed",
    ),
)


def _unpacked(names: tuple[str, ...], value: str) -> str:
    if len(names) == 1:
        return f"{names[0]} = {value}"
    return f"{', '.join(names)} = {value}.chunk({len(names)}, 1)"


def written(cell: Cell, origin: str) -> str:
    """See `generate`."""
    dialect = headed(DIALECT, cell, "torch.mm({}, {})", "torch.mm({}, {}.t())")
    found = parts(cell, dialect, slices=True)
    statements, results = found.program.lines()
    body = []
    if found.states:
        single = len(cell.states) == 1
        body.append(f"{found.states} = states[0]" if single else f"{found.states} = states")
    if found.own:
        single = len(found.own) == 1
        body.append(f"{', '.join(found.own)} = own{'[0]' if single else ''}")
    h = found.program.given[cell.states[0]]
    product, added = f"torch.mm({h}, recurrent)", f"torch.addmm({{}}, {h}, recurrent)"
    if cell.heads > 1:
        product, added = f"by_heads({h}, recurrent)", f"({{}} + by_heads({h}, recurrent))"
    body += found.sums(f"{h}.size(1)", added.format, product, _unpacked)
    text = "\n".join([*statements, *results])
    if "units)" in text or "units," in text:
        body.append(f"units = [from_input.size(1) // {len(cell.x_gates)}]")
    body += [*statements, f"return [{', '.join(results)}]"]
    head = docstring(
        f"A step of `{cell.name}`, as {origin} has it.",
        "from_input [B, gates that read x * H]: the input's products, with the biases; states: [B, H] each, the output first; "
        f"recurrent [H, {columns(cell)}]; own: {found.own_text}.",
    )
    functional = "import torch.nn.functional as F\n" if "F." in text else ""
    indented = "".join(f"    {line}\n" for line in body)
    whole = "\n".join(body)
    helpers = helped(whole, _OF_HEADS)
    for name, helper in (("by_heads(", _BY_HEADS), ("by_heads_transposed(", _TRANSPOSED)):
        helpers += helper.format(heads=cell.heads) if name in whole else ""
    return (
        f"{head}\nfrom typing import List\n\nimport torch\n{functional}from torch import Tensor\n{helpers}\n\n"
        "def step(from_input: Tensor, states: List[Tensor], recurrent: Tensor, own: List[Tensor]):\n"
        f"{indented}"
    )


assert VARIANCE == 1e-5, "layer_norm's own"
