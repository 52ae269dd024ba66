"""Kernels on PyTorch's tensors: memory, and addresses of it."""

from __future__ import annotations

import ctypes
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.utils.weak import WeakTensorKeyDictionary

from .cells.text import from_text
from .codegen import DIGEST, Kernel, Shape, Strided
from .memory import empty

Tensors = Sequence[Tensor]

NONE = torch.empty(0, device="cpu")
"""What is not there; its address is 0."""


@functools.cache
def kernel_of(cell: str, kind: torch.dtype) -> Kernel:
    """The kernel of a cell's text in a type; compiled where no process of this machine has done so."""
    kernel = Kernel.of(from_text(cell), kind == torch.bfloat16, kind == torch.int8)
    if not kernel.has_products:
        warnings.warn(
            "Recurrent: this CPU has no bfloat16 products; bfloat16 is computed in float32, which is slower than float32 itself",
            stacklevel=2,
        )
    return kernel


def kind_of(x: Tensor, weights: Tensors) -> torch.dtype:
    """What a kernel multiplies."""
    return torch.int8 if weights[0].dtype == torch.int8 else x.dtype


def kinds(kernel: Kernel) -> list[torch.dtype]:
    """The type of each initial and final state, as the kernel has it."""
    first = torch.bfloat16 if kernel.half else torch.float32
    return [first, *[torch.float32] * (len(kernel.cell.states) - 1)]


def shape_of(kernel: Kernel, x: Tensor, initial: Tensors, weights: Tensors) -> Shape:
    """The sizes of one direction, of x [T, B, K]."""
    steps, batch, inputs = x.shape
    hidden = weights[2].shape[0] // len(kernel.cell.sums)
    return Shape(steps, batch, inputs, hidden, initial[0].shape[1])


def strided(one: Tensor, first: int = 0) -> Strided:
    """[T, B, values] from a column on; the last axis is contiguous."""
    return Strided(one.data_ptr() + one.element_size() * first, one.stride(0), one.stride(1))


def dense(one: Tensor) -> Tensor:
    """A tensor in memory whose last axis is contiguous: itself, or a copy."""
    if one.is_neg() or one._is_zerotensor():
        one = one.clone()  # which lies as the view did
    return one if one.shape[-1] == 1 or one.stride(-1) == 1 else one.contiguous()


def as_kind(one: Tensor, kind: torch.dtype) -> Tensor:
    """The values in memory one after another in a type: the tensor itself, if they are. Asking is quicker than having it done.

    The values of a negative view are in memory with the other sign, those of PyTorch's zero tensors are nowhere.
    """
    if one.is_neg() or one._is_zerotensor():
        one = one.clone()
    return one if one.dtype == kind and one.is_contiguous() else one.to(kind).contiguous()


def packed(kernel: Kernel, weights: Tensors) -> Tensor:
    """Weights of a direction, in the kernel's order once and for all."""
    hidden = weights[2].shape[0] // len(kernel.cell.sums)
    shape = Shape(1, 1, weights[0].shape[0], hidden, weights[1].shape[0])
    held, where = addressed(kernel, weights, kernel.sizes(shape).packed)
    kernel.pack(shape, **where)
    return held[-1]


def addressed(kernel: Kernel, weights: Tensors, size: int) -> tuple[Tensors, dict[str, Any]]:
    """Weights as a kernel takes them and last what they are packed in, of a size, which the caller holds while it does, and the
    arguments that say where they are.

    size: 0 if they need not be packed. Those of int8 are packed before, all in the first one.
    """
    if weights[0].dtype == torch.int8:
        return weights[:1], {"packed": weights[0].data_ptr()}
    narrow = kernel.half and all(one.dtype == torch.bfloat16 for one in weights)
    kind = torch.bfloat16 if narrow else torch.float32
    own = [as_kind(one, kind) for one in weights]
    where = {"weights": [one.data_ptr() for one in own], "narrow": narrow}
    own.append(empty(size) if size else NONE)
    return own, {**where, "packed": own[-1].data_ptr()}


class _Known(NamedTuple):
    """Weights as a call has packed them."""

    kernel: Kernel
    sizes: tuple[int, ...]
    digest: bytes
    packed: Tensor


_known: Any = WeakTensorKeyDictionary()
"""By the first weights of a direction, while nothing trains them."""

LEAST = 1 << 16
"""Packed floats from which they are kept: fewer are packed as quickly as they are compared."""


def _with_weights(
    call: Callable[..., bool],
    kernel: Kernel,
    sizes: tuple[int, ...],
    weights: Tensors,
    size: int,
    keep: bool,
) -> None:
    """Call it with the weights of a direction, packed by a call before if their digest is still the same.

    Nothing else tells that somebody wrote into them by NumPy, `.data` or another tensor's memory.
    """
    first = weights[0]
    if keep:
        _known.pop(first, None)
    if keep or size < LEAST or type(first) is not Parameter:
        _held, where = addressed(kernel, weights, size)
        call(**where)
        return
    known = _known.get(first)
    if known is not None and known[:2] == (kernel, sizes):
        digest = ctypes.create_string_buffer(known.digest, DIGEST)
        _held, where = addressed(kernel, weights, 0)
        of_before = {"known": known.packed.data_ptr(), "digest": ctypes.addressof(digest)}
        if call(**where, **of_before):
            return
    digest = ctypes.create_string_buffer(DIGEST)
    held, where = addressed(kernel, weights, size)
    call(**where, digest=ctypes.addressof(digest))
    _known[first] = _Known(kernel, sizes, digest.raw, held[-1])


def parts(values: Tensors, count: int) -> list[Tensors]:
    """Values of each direction."""
    size = len(values) // count
    return [values[n * size : (n + 1) * size] for n in range(count)]


def forward(
    kernel: Kernel,
    x: Tensor,
    initial: Tensors,
    weights: Tensors,
    lengths: Tensor | None,
    resets: Tensor | None,
    directions: int,
    keep: bool,
) -> list[Tensor]:
    """y [T, B, directions * P], the final states, and what backward needs (keep; else an empty tensor).

    x [T, B, K]; initial, weights: those of the first direction, then those of the other one. Memory of y lies as x's.
    """
    threads = torch.get_num_threads()
    x = dense(x.detach())
    shape = shape_of(kernel, x, initial, weights)
    sizes = kernel.sizes(shape, threads)
    y = output(x, shape.outputs * directions)
    final = [
        empty(*one.shape, dtype=kind)
        for one, kind in zip(initial, kinds(kernel) * directions, strict=True)
    ]
    scratch = empty(sizes.scratch)
    tape = empty(directions, sizes.tape if keep else 0)
    masks = masked(lengths, resets, shape)
    given = zip(
        parts(initial, directions),
        parts(final, directions),
        parts(weights, directions),
        strict=True,
    )
    for number, (begin, end, own) in enumerate(given):
        begin = _begun(kernel, begin)
        call = functools.partial(
            kernel.forward,
            shape,
            x=strided(x),
            y=strided(y, number * shape.outputs),
            scratch=scratch.data_ptr(),
            initial=[one.data_ptr() for one in begin],
            final=[one.data_ptr() for one in end],
            lengths=masks[0].data_ptr(),
            resets=masks[1].data_ptr(),
            reverse=number == 1,
            tape=tape[number].data_ptr() if keep else 0,
            threads=threads,
        )
        _with_weights(call, kernel, shape[2:], own, sizes.packed, keep)
    return [y, *(one.to(given.dtype) for one, given in zip(final, initial, strict=True)), tape]


def backward(
    kernel: Kernel,
    x: Tensor,
    initial: Tensors,
    weights: Tensors,
    lengths: Tensor | None,
    resets: Tensor | None,
    directions: int,
    y: Tensor,
    tape: Tensor,
    d_y: Tensor | None,
    d_final: Sequence[Tensor | None],
    wanted: Sequence[bool] | None = None,
) -> list[Tensor | None]:
    """Gradients of x, of the initial states and of the weights, in their types; of those that are wanted, else None."""
    wanted = wanted or [True] * (1 + len(initial) + len(weights))
    threads = torch.get_num_threads()
    x = dense(x.detach())
    shape = shape_of(kernel, x, initial, weights)
    sizes = kernel.sizes(shape, threads)
    scratch = empty(sizes.scratch_backward)
    d_y = None if d_y is None else dense(d_y)
    masks = masked(lengths, resets, shape)
    found = [
        empty(*one.shape) if own else None
        for one, own in zip((*initial, *weights), wanted[1:], strict=True)
    ]
    d_initial, d_weights = found[: len(initial)], found[len(initial) :]
    all_d_x = []
    given = zip(
        *(parts(each, directions) for each in (initial, d_final, d_initial, weights, d_weights)),
        strict=True,
    )
    for number, (begin, d_end, d_begin, own, d_own) in enumerate(given):
        _held, where = addressed(kernel, own, sizes.packed_backward)
        begin = _begun(kernel, begin)
        d_end = [None if one is None else as_kind(one, torch.float32) for one in d_end]
        first = number * shape.outputs
        d_x = output(x, shape.inputs) if wanted[0] else None
        kernel.backward(
            shape,
            x=strided(x),
            y=strided(y, first),
            **where,
            tape=tape[number].data_ptr(),
            scratch=scratch.data_ptr(),
            initial=[one.data_ptr() for one in begin],
            d_y=None if d_y is None else strided(d_y, first),
            d_final=_places(d_end),
            d_x=None if d_x is None else strided(d_x),
            d_initial=_places(d_begin),
            d_weights=_places(d_own),
            lengths=masks[0].data_ptr(),
            resets=masks[1].data_ptr(),
            reverse=number == 1,
            threads=threads,
        )
        all_d_x.append(d_x)
    if directions == 2 and wanted[0]:
        all_d_x[0].add_(all_d_x[1])
    pairs = zip(found, (*initial, *weights), strict=True)
    return [all_d_x[0], *(None if one is None else one.to(given.dtype) for one, given in pairs)]


def _places(several: Sequence[Tensor | None]) -> list[int]:
    """Addresses; 0 of what is not there."""
    return [0 if one is None else one.data_ptr() for one in several]


def _begun(kernel: Kernel, initial: Tensors) -> list[Tensor]:
    """Initial states of one direction in the kernel's types."""
    pairs = zip(initial, kinds(kernel), strict=True)
    return [as_kind(one, kind) for one, kind in pairs]


def output(x: Tensor, values: int) -> Tensor:
    """[T, B, values], its rows one after another as x's are: by steps, or by sequences."""
    steps, batch = x.shape[:2]
    new = empty if type(x) is Tensor and not x.is_meta else x.new_empty
    if by_sequences(x):
        return new(batch, steps, values, dtype=x.dtype).transpose(0, 1)
    return new(steps, batch, values, dtype=x.dtype)


def by_sequences(x: Tensor) -> bool:
    """Whether the steps of a sequence lie side by side."""
    return x.stride(0) < x.stride(1)


def masked(lengths: Tensor | None, resets: Tensor | None, shape: Shape) -> tuple[Tensor, Tensor]:
    """Both as a kernel reads them; an empty tensor, whose address is 0, for what is not there."""
    if lengths is None:
        lengths = NONE
    elif shape.batch:
        least, most = (int(one) for one in torch.aminmax(lengths))
        if least < 0 or most > shape.steps:
            told = f"lengths from {least} to {most}, but x has {shape.steps} steps"
            raise ValueError(f"Recurrent: {told}")
    resets = NONE if resets is None else resets.contiguous()
    return lengths.contiguous(), resets


def tape_size(kernel: Kernel, x: Tensor, initial: Tensors, weights: Tensors) -> int:
    """Columns of what forward keeps for backward."""
    shape = shape_of(kernel, x, initial, weights)
    return kernel.sizes(shape, torch.get_num_threads()).tape
