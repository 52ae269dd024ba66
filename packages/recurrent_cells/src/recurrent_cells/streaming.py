"""Step by step: layers whose input arrives while they compute."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from . import inputs, tensors
from .codegen import Shape
from .memory import empty


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
            raise ValueError("stream: the other direction begins at a sequence's end")
        if not isinstance(batch, int) or batch < 1:
            raise ValueError(f"stream: batch must be a positive integer, not {batch!r}")
        self.cell, self.batch = layer.cell, batch
        own = [[one.detach() for one in layer._weights(end)] for end in layer._ends()]
        kind = inputs.kind_of([one for each in own for one in each])
        sizes = [layer.output_size, *[layer.hidden_size] * (len(self.cell.states) - 1)]
        self._x = empty(1, batch, layer.input_size, dtype=kind)
        self._kernel, self._calls = tensors.kernel_of(layer._text, kind), []
        self.states = [
            empty(layer.num_layers, batch, size, dtype=own_kind)
            for size, own_kind in zip(sizes, tensors.kinds(self._kernel), strict=True)
        ]
        self._held: list[Tensor] = []  # what the calls have addresses of
        x = self._x
        for number, weights in enumerate(own):
            shape = Shape(1, batch, x.shape[2], layer.hidden_size, layer.output_size)
            packed = tensors.pack(self._kernel, shape, weights, backward=False)
            scratch = empty(self._kernel.sizes(shape, threads).scratch)
            y = empty(1, batch, layer.output_size, dtype=kind)
            places = [one[number].data_ptr() for one in self.states]
            how = {
                **{"x": tensors.strided(x), "y": tensors.strided(y), "packed": packed.data_ptr()},
                **{"scratch": scratch.data_ptr(), "initial": places, "final": places},
                "threads": threads,
            }
            self._calls.append((shape, how))
            self._held += [packed, scratch, y]
            x = y
        self.y = x[0]
        self.reset()

    def step(self, x: Tensor) -> Tensor:
        """Return the output [B, P] for the input x [B, K] of a step; the next step overwrites it."""
        if x.shape != self._x.shape[1:] or x.dtype != self._x.dtype:
            told = f"{x.dtype} of shape {tuple(x.shape)}, not {tuple(self._x.shape[1:])}"
            raise ValueError(f"stream: x is {told} of {self._x.dtype}")
        self._x[0].copy_(x.detach())
        for shape, how in self._calls:
            self._kernel.forward(shape, **how)
        return self.y

    def reset(self, rows: Tensor | slice | int = slice(None)) -> None:
        """Start some sequences again from the cell's initial states."""
        for name, state in zip(self.cell.states, self.states, strict=True):
            state[:, rows] = self.cell.start(name)
