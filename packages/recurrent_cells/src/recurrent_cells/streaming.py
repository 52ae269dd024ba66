"""Step by step: layers whose input arrives while they compute."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from . import tensors
from .codegen import Shape
from .memory import empty

MOST_THREADS = 1024


class Stream:
    """Compute sequences step by step, without gradients. Made by `Recurrent.stream`.

    It keeps the weights as they were when it was made. A step releases Python's lock; use one stream per thread.

    Parameters
    ----------
    layer:
        A `Recurrent` in one direction. Dropout between layers is not applied.
    batch:
        Number of sequences.
    threads:
        Threads per step. One is enough for a server with parallel requests.
    """

    def __init__(self, layer: Any, batch: int = 1, threads: int = 1) -> None:
        if layer.bidirectional:
            raise ValueError("stream: a bidirectional layer cannot compute step by step")
        for name, value, most in (("batch", batch, None), ("threads", threads, MOST_THREADS)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"stream: {name} must be a positive integer, not {value!r}")
            if most is not None and value > most:
                raise ValueError(f"stream: {name} must be at most {most}, not {value}")
        self.cell, self.batch = layer.cell, batch
        own, (kind, meta) = layer._weights()
        if meta:
            raise ValueError("stream: the parameters are on meta, where nothing is computed")
        own = [[one.detach() for one in each] for each in own]
        with torch.inference_mode(False):  # whose tensors could not be written outside of it
            self._begin(layer, own, kind, threads)
        self.reset()

    def _begin(self, layer: Any, own: list[list[Tensor]], kind: torch.dtype, threads: int) -> None:
        """Take the memory of all steps."""
        batch = self.batch
        shapes = self.cell.state_shapes(layer.hidden_size, layer.output_size)
        self._x = empty(1, batch, layer.input_size, dtype=kind)
        self._kernel = tensors.kernel_of(layer._text, tensors.kind_of(self._x, own[0]))
        self._calls = []
        self._states = tuple(
            empty(layer.num_layers, batch, *size, dtype=own_kind)
            for size, own_kind in zip(shapes, tensors.kinds(self._kernel), strict=True)
        )
        self._held: list[Tensor] = []  # what the calls have addresses of
        x = self._x
        for number, weights in enumerate(own):
            shape = Shape(1, batch, x.shape[2], layer.hidden_size, layer.output_size)
            sizes = self._kernel.sizes(shape, threads)
            packed = weights[0] if self._kernel.int8 else tensors.packed(self._kernel, weights)
            scratch = empty(sizes.scratch)
            y = empty(1, batch, layer.output_size, dtype=kind)
            places = [one[number].data_ptr() for one in self._states]
            how = {
                **{"x": tensors.strided(x), "y": tensors.strided(y), "packed": packed.data_ptr()},
                **{"scratch": scratch.data_ptr(), "initial": places, "final": places},
                "threads": threads,
            }
            self._calls.append((shape, how))
            self._held += [packed, scratch, y]
            x = y
        self.y = x[0]

    @property
    def states(self) -> tuple[Tensor, ...]:
        """The states [layers, B, ...] in the order of `Cell.states`, which steps read and write. Assigned ones are copied."""
        return self._states

    @states.setter
    def states(self, given: Tensor | Iterable[Tensor]) -> None:
        given = [given] if isinstance(given, Tensor) else given
        if not isinstance(given, Iterable):
            raise TypeError(f"stream: states must be tensors, not {type(given).__name__}")
        given = [*given]
        if len(given) != len(self._states):
            names = ", ".join(self.cell.states)
            raise ValueError(f"stream: {len(given)} states, not {len(self._states)} ({names})")
        for name, own, one in zip(self.cell.states, self._states, given, strict=True):
            if not isinstance(one, Tensor):
                raise TypeError(
                    f"stream: the state {name} must be a tensor, not {type(one).__name__}"
                )
            if one.shape != own.shape:
                told = f"{tuple(one.shape)}, not {tuple(own.shape)}"
                raise ValueError(f"stream: the state {name} has the shape {told}")
        # All are read before one is written: they may be the stream's own in another order.
        copies = [one.detach().clone() for one in given]
        for own, one in zip(self._states, copies, strict=True):
            own.copy_(one)

    def step(self, x: Tensor) -> Tensor:
        """Return the output [B, P] for the input x [B, K] of a step; the next step overwrites it."""
        if not isinstance(x, Tensor):
            raise TypeError(f"stream: x must be a tensor, not {type(x).__name__}")
        wanted = self._x
        if x.shape != wanted.shape[1:]:
            told = f"{tuple(x.shape)}, not {tuple(wanted.shape[1:])}: batch, values"
            raise ValueError(f"stream: x has the shape {told}")
        narrowed = torch.is_autocast_enabled("cpu") and x.dtype == torch.float32
        if (x.dtype != wanted.dtype and not narrowed) or x.device != wanted.device:
            told = f"{x.dtype} on {x.device}, not {wanted.dtype} on {wanted.device}"
            raise TypeError(f"stream: x is {told}")
        self._x[0].copy_(x.detach())
        for shape, how in self._calls:
            self._kernel.forward(shape, **how)
        return self.y

    def __reduce_ex__(self, _: Any) -> Any:
        raise TypeError("stream: it cannot be pickled or copied: make another by layer.stream(...)")

    def reset(self, rows: Tensor | slice | int = slice(None)) -> None:
        """Start some sequences again from the cell's initial states."""
        if isinstance(rows, Tensor) and rows.dtype == torch.uint8:  # a mask, as of `resets`
            rows = rows.bool()
        for name, state in zip(self.cell.states, self.states, strict=True):
            state[:, rows] = self.cell.start(name)
