"""A layer as an operator of PyTorch: what autograd, torch.compile and torch.export know of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_legacy_batchedtensor as _is_batched
from torch.autograd import forward_ad

from . import steps, tensors
from .cells.text import from_text


def layer(
    cell: str,
    x: Tensor,
    initial: Sequence[Tensor],
    weights: Sequence[Tensor],
    lengths: Tensor | None = None,
    resets: Tensor | None = None,
    directions: int = 1,
) -> list[Tensor]:
    """One layer by its kernel: y [T, B, directions * P] and the final states.

    cell: its text (`cells.text`). Others as of `steps.layer`; of two directions, the states and weights of the first, then those
    of the other. x in float32 or bfloat16 says what is computed in; the others may be of either type.
    """
    given = (x, *initial, *weights)
    training = torch.is_grad_enabled() and any(one.requires_grad for one in given)
    kind = tensors.kind_of(x, weights)
    if training and kind == torch.int8:
        raise RuntimeError(
            "Recurrent: int8 layers have no gradients: use torch.no_grad(), or train the layer that this one is a copy of"
        )
    # Tensors of other kinds hold no memory (fake, functional), or record what is done with them.
    if (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or x.is_meta
        or any(type(one) not in (Tensor, torch.nn.Parameter) for one in given)
    ):
        return _forward(
            x, list(initial), list(weights), lengths, resets, directions, cell, training
        )[:-1]
    if forward_ad._current_level >= 0 and any(
        forward_ad.unpack_dual(one)[1] is not None for one in given
    ):
        raise RuntimeError(
            "Recurrent: forward-mode gradients (dual tensors) are not computed: use backward"
        )
    if training:
        # The same without the dispatcher's detours, which cost tens of microseconds.
        count = len(initial)
        return list(_Layer.apply(cell, count, lengths, resets, directions, x, *initial, *weights))
    return tensors.forward(
        tensors.kernel_of(cell, kind), x, initial, weights, lengths, resets, directions, False
    )[:-1]


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        cell: str,
        count: int,
        lengths: Tensor | None,
        resets: Tensor | None,
        directions: int,
        x: Tensor,
        *rest: Tensor,
    ) -> Any:
        initial, weights = rest[:count], rest[count:]
        *made, tape = tensors.forward(
            tensors.kernel_of(cell, x.dtype), x, initial, weights, lengths, resets, directions, True
        )
        ctx.set_materialize_grads(False)
        ctx.cell, ctx.count, ctx.directions = cell, count, directions
        ctx.save_for_backward(lengths, resets, x, *rest, made[0], tape)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, d_y: Tensor | None, *d_final: Tensor | None) -> Any:
        lengths, resets, x, *rest, y, tape = ctx.saved_tensors
        initial, weights = rest[: ctx.count], rest[ctx.count :]
        how = lengths, resets, ctx.directions
        _check_single((d_y, *d_final))
        if torch.is_grad_enabled():  # create_graph=True
            found = _differentiable(ctx.cell, x, initial, weights, how, (d_y, *d_final))
        else:
            found = tensors.backward(
                tensors.kernel_of(ctx.cell, x.dtype),
                x,
                initial,
                weights,
                *how,
                y,
                tape,
                d_y,
                d_final,
                ctx.needs_input_grad[5:],
            )
        return None, None, None, None, None, *found


def _check_single(gradients: Sequence[Tensor | None]) -> None:
    if any(d is not None and _is_batched(d) for d in gradients):
        told = "several gradients at once (is_grads_batched, vectorize) are not computed"
        raise RuntimeError(f"Recurrent: {told}: one after another")


def _differentiable(
    cell: str,
    x: Tensor,
    initial: Sequence[Tensor],
    weights: Sequence[Tensor],
    how: tuple[Tensor | None, Tensor | None, int],
    gradients: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """The gradients as operators that can be differentiated again."""
    inputs = [x, *initial, *weights]
    # Each by itself: one may be computed from another, or be the same one, and autograd goes on from there by itself.
    inputs = [one.view_as(one) if one.requires_grad else one for one in inputs]
    wide = [one.to(torch.float32) for one in inputs]
    states, own = wide[1 : 1 + len(initial)], wide[1 + len(initial) :]
    made = steps.both(from_text(cell), wide[0], states, own, *how)
    made = [one.to(given.dtype) for one, given in zip(made, inputs, strict=False)]
    pairs = [
        (one, d)
        for one, d in zip(made, gradients, strict=True)
        if d is not None and one.requires_grad  # a count of steps has no gradient
    ]
    wanted = [one for one in inputs if one.requires_grad]
    if not pairs:
        return [None] * len(inputs)
    outputs, own = zip(*pairs, strict=True)
    found = iter(torch.autograd.grad(outputs, wanted, own, create_graph=True, allow_unused=True))
    return [next(found) if one.requires_grad else None for one in inputs]


@torch.library.custom_op("recurrent_cells::layer", mutates_args=())
def _forward(
    x: Tensor,
    initial: Sequence[Tensor],
    weights: Sequence[Tensor],
    lengths: Tensor | None,
    resets: Tensor | None,
    directions: int,
    cell: str,
    training: bool,
) -> list[Tensor]:
    return tensors.forward(
        tensors.kernel_of(cell, x.dtype), x, initial, weights, lengths, resets, directions, training
    )


@_forward.register_fake
def _(x, initial, weights, lengths, resets, directions, cell, training):  # type: ignore[no-untyped-def]
    steps, batch = x.shape[:2]
    size: Any = 0
    if training and isinstance(steps, int) and isinstance(batch, int):
        size = tensors.tape_size(tensors.kernel_of(cell, x.dtype), x, initial, weights)
    elif training:
        size = torch.library.get_ctx().new_dynamic_size()
    return [
        tensors.output(x, directions * initial[0].shape[1]),
        *(one.new_empty(one.shape) for one in initial),
        x.new_empty(directions, size, dtype=torch.float32),
    ]


@torch.library.custom_op("recurrent_cells::layer_backward", mutates_args=())
def _backward(
    gradients: Sequence[Tensor],
    x: Tensor,
    initial: Sequence[Tensor],
    weights: Sequence[Tensor],
    lengths: Tensor | None,
    resets: Tensor | None,
    directions: int,
    y: Tensor,
    tape: Tensor,
    cell: str,
) -> list[Tensor]:
    how = lengths, resets, directions, y, tape
    return tensors.backward(
        tensors.kernel_of(cell, x.dtype), x, initial, weights, *how, gradients[0], gradients[1:]
    )


@_backward.register_fake
def _(gradients, x, initial, weights, *_):  # type: ignore[no-untyped-def]
    d_x = tensors.output(x, x.shape[2])
    return [d_x, *(one.new_empty(one.shape) for one in (*initial, *weights))]


def _keep(ctx: Any, inputs: Any, output: list[Tensor]) -> None:
    x, initial, weights, lengths, resets, ctx.directions, ctx.cell, _ = inputs
    ctx.count = len(initial)
    ctx.has = lengths is not None, resets is not None
    masks = [one for one in (lengths, resets) if one is not None]
    ctx.save_for_backward(*masks, x, *initial, *weights, *output[:-1], output[-1])


def _gradients(ctx: Any, grads: Sequence[Tensor | None]) -> Any:
    _check_single(grads)
    saved = iter(ctx.saved_tensors)
    lengths, resets = (next(saved) if has else None for has in ctx.has)
    x, *rest = saved
    made, tape = rest[-ctx.count - 2 : -1], rest[-1]
    initial, weights = rest[: ctx.count], rest[ctx.count : -ctx.count - 2]
    if torch.is_grad_enabled():  # create_graph=True
        how = lengths, resets, ctx.directions
        found = _differentiable(ctx.cell, x, initial, weights, how, grads[:-1])
        return found[0], found[1 : 1 + ctx.count], found[1 + ctx.count :], *[None] * 5
    given = [
        torch.zeros_like(one) if d is None else d for one, d in zip(made, grads[:-1], strict=True)
    ]
    how = lengths, resets, ctx.directions, made[0], tape
    found = _backward(given, x, initial, weights, *how, ctx.cell)
    return found[0], found[1 : 1 + ctx.count], found[1 + ctx.count :], *[None] * 5


torch.library.register_autograd("recurrent_cells::layer", _gradients, setup_context=_keep)
