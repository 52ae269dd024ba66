"""A step in PyTorch's operators, which TorchScript compiles too."""

from __future__ import annotations

from collections.abc import Callable

from ..cells.language import VARIANCE, Cell, Expression, is_constant
from .program import Dialect, docstring, parts


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
    ),
)


def _unpacked(names: tuple[str, ...], value: str) -> str:
    if len(names) == 1:
        return f"{names[0]} = {value}"
    return f"{', '.join(names)} = {value}.chunk({len(names)}, 1)"


def written(cell: Cell, origin: str) -> str:
    """See `generate`."""
    found = parts(cell, DIALECT, slices=True)
    statements, results = found.program.lines()
    body = []
    if found.states:
        single = len(cell.states) == 1
        body.append(f"{found.states} = states[0]" if single else f"{found.states} = states")
    if found.own:
        single = len(found.own) == 1
        body.append(f"{', '.join(found.own)} = own{'[0]' if single else ''}")
    h = found.program.given[cell.states[0]]
    body += found.sums(
        f"{h}.size(1)",
        lambda part: f"torch.addmm({part}, {h}, recurrent)",
        f"torch.mm({h}, recurrent)",
        _unpacked,
    )
    text = "\n".join([*statements, *results])
    if "units)" in text or "units," in text:
        body.append(f"units = [from_input.size(1) // {len(cell.x_gates)}]")
    body += [*statements, f"return [{', '.join(results)}]"]
    head = docstring(
        f"A step of `{cell.name}`, as {origin} has it.",
        "from_input [B, gates that read x * H]: the input's products, with the biases; states: [B, H] each, the output first; "
        f"recurrent [H, gates that read h * H]; own: {found.own_text}.",
    )
    functional = "import torch.nn.functional as F\n" if "F." in text else ""
    indented = "".join(f"    {line}\n" for line in body)
    return (
        f"{head}\nfrom typing import List\n\nimport torch\n{functional}from torch import Tensor\n\n\n"
        "def step(from_input: Tensor, states: List[Tensor], recurrent: Tensor, own: List[Tensor]):\n"
        f"{indented}"
    )


assert VARIANCE == 1e-5, "layer_norm's own"
