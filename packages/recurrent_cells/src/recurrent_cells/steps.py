"""A layer of a cell in PyTorch's operators: slow, in any precision, and differentiable any number of times.

The oracle of the kernels' tests, and what gradients of gradients are computed by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .cells import Cell
from .cells.language import VARIANCE, computed


def _norm(x: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=VARIANCE)


def _times(x: Tensor, w: Tensor, heads: int) -> Tensor:
    """x [B, H] times n block-diagonal matrices, w [H, n * H / heads] (see `Cell`): [B, n * H]."""
    if heads == 1:
        return x @ w
    size = len(w) // heads
    apart = x.unflatten(1, (heads, size)), w.unflatten(0, (heads, size)).unflatten(2, (-1, size))
    return torch.einsum("bhi,hinj->bnhj", *apart).flatten(1)


def _times_transposed(x: Tensor, w: Tensor) -> Tensor:
    """x [B, H] times the transpose of a block-diagonal matrix."""
    blocks = w.unflatten(0, (-1, w.shape[1]))
    return torch.einsum("bhj,hij->bhi", x.unflatten(1, (-1, w.shape[1])), blocks).flatten(1)


def _apart(x: Tensor, heads: float) -> Tensor:
    """[B, H, ...] as [B, heads, H / heads, ...]."""
    return x.unflatten(1, (int(heads), -1))


def _read(axes: str, c: Tensor, x: Tensor, heads: float) -> Tensor:
    return torch.einsum(axes, _apart(c, heads), _apart(x, heads)).flatten(1)


def _outer(a: Tensor, b: Tensor, heads: float) -> Tensor:
    """The matrices a b^T of each head: [B, H, H / heads]."""
    return torch.einsum("bhi,bhj->bhij", _apart(a, heads), _apart(b, heads)).flatten(1, 2)


def _mean(a: Tensor, heads: float) -> Tensor:
    own = _apart(a, heads)
    return own.mean(2, keepdim=True).expand_as(own).flatten(1)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "constant": lambda value: value,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "maximum": lambda a, b: torch.where(a >= b, a, b),
    "minimum": lambda a, b: torch.where(a <= b, a, b),
    "where": lambda condition, a, b: torch.where(condition > 0.5, a, b),
    "at_least": lambda a, b: torch.where(a >= b, 1.0, 0.0),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "sin": torch.sin,
    "cos": torch.cos,
    "softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "absolute": torch.abs,
    "sign": torch.sign,
    "norm": _norm,
    "product": lambda x, w: _times(x, w, len(w) // w.shape[1]),
    "product_transposed": _times_transposed,
    "outer": _outer,
    "scale_rows": lambda a, c: a.unsqueeze(2) * c,
    "read": lambda c, x, heads: _read("bhij,bhj->bhi", c, x, heads),
    "read_transposed": lambda c, x, heads: _read("bhij,bhi->bhj", c, x, heads),
    "head_sum": lambda a, heads: _mean(a, heads) * (a.shape[1] / heads),
    "head_mean": _mean,
}
"""What each operation of the language is in PyTorch."""


def _beside(mask: Tensor, one: Tensor) -> Tensor:
    """[B] as it is broadcast to [B, ...]."""
    return mask.view(-1, *[1] * (one.dim() - 1))


def layer(
    cell: Cell,
    x: Tensor,
    initial: Sequence[Tensor],
    weights: Sequence[Tensor],
    lengths: Tensor | None = None,
    resets: Tensor | None = None,
    reverse: bool = False,
) -> list[Tensor]:
    """One layer in one direction.

    Parameters
    ----------
    x: [T, B, K]
    initial: the states before the first step, see `Cell.state_shapes`, in the order of `cell.states`.
    weights: w_input [K, x_gates * H], w_recurrent [P, columns * H / heads], bias [sums * H], each vector [H], and, of a
        projected cell, w_projection [H, P].
    lengths: [B], steps of each row. Beyond them y is zero, whatever x holds there.
    resets: [T, B], true where a new sequence begins in a row: its states are what the cell begins with, before that step
        or, in reverse, after it.
    reverse: from each row's last step to its first.

    Returns
    -------
    y [T, B, P], and the states after each row's last step.
    """
    steps = len(x)
    if lengths is not None:
        alive = torch.arange(steps).unsqueeze(1) < lengths  # [T, B]
        x = torch.where(alive.unsqueeze(2), x, 0.0)
        resets = None if resets is None else resets.bool() & alive
    of_x = x @ weights[0]
    states, outputs = list(initial), [x[:0]] * steps
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        begun = t + reverse  # what begins at a step ends before it, backwards
        if resets is not None and begun < steps:
            states = [
                torch.where(_beside(resets[begun].bool(), one), cell.start(name), one)
                for name, one in zip(cell.states, states, strict=True)
            ]
        new = _step(cell, of_x[t], states, weights)
        if lengths is not None:
            here = alive[t]
            new = [
                torch.where(_beside(here, one), one, old)
                for one, old in zip(new, states, strict=True)
            ]
            outputs[t] = torch.where(here.unsqueeze(1), new[0], 0.0)
        else:
            outputs[t] = new[0]
        states = new
    return [torch.stack(outputs), *states]


def both(
    cell: Cell,
    x: Tensor,
    initial: Sequence[Tensor],
    weights: Sequence[Tensor],
    lengths: Tensor | None = None,
    resets: Tensor | None = None,
    directions: int = 1,
) -> list[Tensor]:
    """One layer in one direction or both: y [T, B, directions * P] and the final states.

    initial, weights: those of the first direction, then those of the other one.
    """
    states, size = len(cell.states), len(weights) // directions
    made = [
        layer(
            cell,
            x,
            initial[n * states :][:states],
            weights[n * size :][:size],
            lengths,
            resets,
            n == 1,
        )
        for n in range(directions)
    ]
    return [torch.cat([one[0] for one in made], -1), *(s for one in made for s in one[1:])]


def _step(
    cell: Cell, of_x: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor]
) -> list[Tensor]:
    """The new states, of x's products with its weights [B, x_gates * H] and the old states."""
    bias, vectors = weights[2], weights[3:]
    hidden = len(bias) // len(cell.sums)
    from_x = dict(zip(cell.x_gates, of_x.split(hidden, -1), strict=True))
    size = hidden // cell.heads
    w_recurrent, *matrices = weights[1].split(
        [len(cell.h_gates) * size, *[size] * len(cell.matrices)], 1
    )
    products = _times(states[0], w_recurrent, cell.heads).split(hidden, -1) if cell.h_gates else ()
    from_h = dict(zip(cell.h_gates, products, strict=True))
    biases = dict(zip(cell.declared_sums, bias.split(hidden), strict=True))
    given: dict[str, Any] = dict(zip(cell.states, states, strict=True))
    given |= dict(zip(cell.vectors, vectors, strict=False))
    given |= dict(zip(cell.matrices, matrices, strict=True))
    for one in cell.sums:
        gate = one.name.partition(".")[0]
        parts = [part[gate] for part, has in ((from_x, one.x), (from_h, one.h)) if has]
        given[one.name] = sum(parts, biases[one.name])
    new = computed(cell.outputs.values(), given, OPERATIONS)
    if cell.projected:
        new[0] = new[0] @ weights[-1]
    return [one.expand(len(of_x), *one.shape[1:]) for one in new]
