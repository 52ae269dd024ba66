"""The layers as PyTorch's operators: what autograd and torch.compile know of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .memory import Tensors
from .tensors import Layers

AGAIN = "Recurrent: gradients of gradients (create_graph=True) are not to be had of kernels"


def computed(
    name: str, x: Tensor, initial: Tensors, weights: Tensors, training: bool
) -> list[Tensor]:
    """y [T, B, P] and the final states of `Layers.named(name)`; training: gradients flow back."""
    if torch.compiler.is_compiling():
        made = _forward(x, list(initial), list(weights), name, training)
        return made[: len(made) - 1]
    layers = Layers.named(name)
    if training:
        return list(_Function.apply(layers, len(initial), x, *initial, *weights))
    return layers.kernel(x.shape[1], x.shape[0], False)(x, initial, weights)


class _Function(torch.autograd.Function):
    """The same without a dispatcher's detours, which cost tens of microseconds."""

    @staticmethod
    def forward(ctx: Any, layers: Layers, states: int, x: Tensor, *rest: Tensor) -> Any:
        kernel = layers.kernel(x.shape[1], x.shape[0], True)
        *made, kept = kernel.forward(x, rest[:states], rest[states:])
        ctx.set_materialize_grads(False)
        ctx.kernel, ctx.states = kernel, states
        ctx.save_for_backward(x, *rest, made[0], kept)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, d_y: Tensor | None, *d_final: Tensor | None) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError(AGAIN)
        x, *rest, y, kept = ctx.saved_tensors
        initial, weights = rest[: ctx.states], rest[ctx.states :]
        found = ctx.kernel.backward(d_y, d_final, x, initial, weights, y, kept)
        count = len(d_final)
        d_initial = found[1 : 1 + count] if initial else []
        return None, None, found[0], *d_initial, *found[1 + count :]


@torch.library.custom_op("recurrent_cells::forward", mutates_args=())
def _forward(
    x: Tensor, initial: Sequence[Tensor], weights: Sequence[Tensor], name: str, training: bool
) -> list[Tensor]:
    kernel = Layers.named(name).kernel(x.shape[1], x.shape[0], training)
    if training:
        return kernel.forward(x, initial, weights)
    return [*kernel(x, initial, weights), x.new_empty(0)]


@_forward.register_fake
def _(x, initial, weights, name, training):  # type: ignore[no-untyped-def]
    layers = Layers.named(name)
    length, batch = x.shape[:2]
    size: Any = 0
    if training:
        known = isinstance(length, int) and isinstance(batch, int)
        size = (
            layers.kernel(batch, length, True).kept_size
            if known
            else torch.library.get_ctx().new_dynamic_size()
        )
    states = [x.new_empty(shape) for shape in layers.state_shapes(batch)]
    return [x.new_empty(length, batch, layers.outputs), *states, x.new_empty(size)]


@torch.library.custom_op("recurrent_cells::backward", mutates_args=())
def _backward(
    d_y: Tensor,
    d_final: Sequence[Tensor],
    x: Tensor,
    initial: Sequence[Tensor],
    weights: Sequence[Tensor],
    y: Tensor,
    kept: Tensor,
    name: str,
) -> list[Tensor]:
    kernel = Layers.named(name).kernel(x.shape[1], x.shape[0], True)
    return kernel.backward(d_y, d_final, x, initial, weights, y, kept)


@_backward.register_fake
def _(d_y, d_final, x, initial, weights, y, kept, name):  # type: ignore[no-untyped-def]
    like = [x, *d_final, *weights]
    return [one.new_empty(one.shape) for one in like]


def _keep(ctx: Any, inputs: Any, output: list[Tensor]) -> None:
    x, initial, weights, ctx.name, _ = inputs
    ctx.states = len(initial)
    ctx.save_for_backward(x, *initial, *weights, output[0], output[-1])


def _gradients(ctx: Any, grads: Sequence[Tensor | None]) -> Any:
    x, *rest, y, kept = ctx.saved_tensors
    initial, weights = rest[: ctx.states], rest[ctx.states :]
    layers = Layers.named(ctx.name)
    shapes = [y.shape, *layers.state_shapes(x.shape[1])]
    d_y, *d_final = [
        x.new_zeros(shape) if one is None else one
        for one, shape in zip(grads[:-1], shapes, strict=True)
    ]
    found = _backward(d_y, d_final, x, initial, weights, y, kept, ctx.name)
    count = len(d_final)
    d_initial = found[1 : 1 + count] if initial else []
    return found[0], d_initial, found[1 + count :], None, None


torch.library.register_autograd("recurrent_cells::forward", _gradients, setup_context=_keep)
