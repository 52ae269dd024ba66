"""Tensors as kernels take them, and what was packed of weights."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch

from .runtime import ALIGNMENT

Tensors = Sequence[torch.Tensor]


class Packed:
    """What a kernel packed of weights, kept while PyTorch's counters say that these are the same."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[list[Any], list[tuple[int, int]], Any]] = {}

    def drop(self, weights: Tensors) -> None:
        """Forget these."""
        self._entries.pop(id(weights[0]), None)

    def get(self, weights: Tensors) -> Any:
        """What was packed of these very tensors in this version, or None."""
        if (entry := self._entries.get(id(weights[0]))) is None:
            return None
        references, versions, packed = entry
        for reference, version, one in zip(references, versions, weights, strict=True):
            if reference() is not one or version != (one.data_ptr(), one._version):
                return None
        return packed

    def put(self, weights: Tensors, packed: Any) -> None:
        """Keep it; tensors of inference mode have no counter, and nothing is kept of them."""
        if any(one.is_inference() for one in weights):
            return
        for key, (references, *_) in list(self._entries.items()):
            if references[0]() is None:
                self._entries.pop(key, None)
        versions = [(one.data_ptr(), one._version) for one in weights]
        self._entries[id(weights[0])] = [*map(weakref.ref, weights)], versions, packed


def shared(value: torch.Tensor, width: int | None = None) -> torch.Tensor:
    """A tensor that a kernel can take, its rows padded by zeros to a width: itself, or a copy."""
    value = value.detach()
    if width is not None and value.shape[-1] != width:
        value = torch.nn.functional.pad(value, (0, width - value.shape[-1]))
    value = value.contiguous()
    return value if value.data_ptr() % ALIGNMENT == 0 else value.clone()


def empty(*shape: int) -> torch.Tensor:
    """Float32 on the CPU, whatever the process's defaults are."""
    return torch.empty(shape, dtype=torch.float32, device="cpu")


def zeros(*shape: int) -> torch.Tensor:
    """The same with zeros."""
    return torch.zeros(shape, dtype=torch.float32, device="cpu")


def begin(to: torch.Tensor, value: torch.Tensor | None, size: int = 0, start: float = 0.0) -> None:
    """Write states into the columns that they have, zeros into all others. Without a value, `start` into `size` columns."""
    if value is None:
        to.zero_()
        if start:
            to[:, :size] = start
    elif value.shape == to.shape:
        to.copy_(value)
    else:
        to.zero_()
        to[:, : value.shape[-1]] = value


def own_tensor(part: torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor that is no view to autograd, so that it may be written where nothing needs it."""
    made = torch.empty(0, dtype=part.dtype, device="cpu")
    return made.set_(part.untyped_storage(), part.storage_offset(), part.shape, part.stride())
