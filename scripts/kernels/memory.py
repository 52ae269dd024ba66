"""Tensors as kernels take them, and what was packed of weights."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .runtime import ALIGNMENT

Tensors = Sequence[torch.Tensor]
LARGE = 1 << 20
"""Bytes from which memory is used again."""


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


class _Blocks:
    """Large blocks, taken again once PyTorch has freed the tensors in them. Its allocator gives those beyond 32 MB back to the
    system (glibc), and each training step then has all their pages made anew: 10 of 45 ms of a forward pass."""

    def __init__(self) -> None:
        self._free: list[NDArray[np.float32]] = []
        self._used = self._most = 0
        self._lock = threading.RLock()  # a tensor may be freed while one is made

    def take(self, values: int) -> torch.Tensor:
        """float32, aligned, of anything."""
        with self._lock:
            size = values + ALIGNMENT // 4
            place = next((n for n, one in enumerate(self._free) if one.size == size), None)
            block = np.empty(size, np.float32) if place is None else self._free.pop(place)
            self._used += block.nbytes
            self._most = max(self._most, self._used)
        start = -block.ctypes.data % ALIGNMENT // 4
        own = block[start : start + values]
        weakref.finalize(own, self._give_back, block).atexit = False  # the tensor holds it
        return torch.from_numpy(own)

    def _give_back(self, block: NDArray[np.float32]) -> None:
        """Keep it, and no more than was ever in use at once; what waited longest goes."""
        with self._lock:
            self._used -= block.nbytes
            self._free.append(block)
            while sum(one.nbytes for one in self._free) > self._most:
                self._free.pop(0)


_BLOCKS = _Blocks()


def block(*shape: int) -> torch.Tensor:
    """Like `empty`, for what is needed anew in every step."""
    values = prod(shape)
    return _BLOCKS.take(values).view(shape) if 4 * values >= LARGE else empty(*shape)


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
