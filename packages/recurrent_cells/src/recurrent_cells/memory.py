"""Memory for kernels. Large blocks are used again: glibc returns those beyond 32 MB to the system, and having all their pages
made anew takes a tenth of a training step."""

from __future__ import annotations

import os
import threading
import weakref
from math import prod
from typing import Any

import torch
from torch import Tensor

LARGE = 1 << 20
"""Bytes from which memory is used again."""

ALIGNMENT = 64
"""Bytes of a cache line, which PyTorch's allocator aligns to."""


class _Blocks:
    """Blocks that no tensor uses any more, no more of them than were ever in use at once."""

    def __init__(self) -> None:
        self._free: list[Any] = []
        self._used = self._most = 0
        self._lock = threading.RLock()  # a tensor may be freed while one is made

    def take(self, values: int) -> Tensor:
        """float32, uninitialised."""
        with self._lock:
            fits = [one for one in self._free if values <= one.numel() <= 2 * values]
            block = min(fits, key=Tensor.numel, default=None)
            if block is None:
                block = torch.empty(values, dtype=torch.float32, device="cpu")
            else:
                self._free = [one for one in self._free if one is not block]
            self._used += block.nbytes
            self._most = max(self._most, self._used)
        array = block.numpy()[:values]
        weakref.finalize(array, self._give_back, block).atexit = False  # the tensor holds it
        return torch.from_numpy(array)

    def _give_back(self, block: Tensor) -> None:
        with self._lock:
            self._used -= block.nbytes
            self._free.append(block)
            while sum(one.nbytes for one in self._free) > self._most:
                self._free.pop(0)


_BLOCKS = _Blocks()
# A child forked while another thread holds the lock would wait for it for ever.
os.register_at_fork(
    before=_BLOCKS._lock.acquire,
    after_in_parent=_BLOCKS._lock.release,
    after_in_child=_BLOCKS._lock.release,
)


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Uninitialised values on the CPU, whatever the process's defaults are."""
    values, size = prod(shape), dtype.itemsize
    if size * values < LARGE:
        return torch.empty(shape, dtype=dtype, device="cpu")
    return _BLOCKS.take(-(-size * values // 4)).view(dtype)[:values].view(shape)
