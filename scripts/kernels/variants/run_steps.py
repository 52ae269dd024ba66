"""Run the variants without a template: step functions from the host, or one unrolled function."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from measurement.contract import Unsupported
from measurement.workload import aligned

from ..runtime import ALIGNMENT, Array, Layer, set_threads
from ..spec import KernelSpec


class StepsRunner:
    """`step_K` for each layer and time step, as build_steps builds them."""

    def __init__(self, directory: Path, layers: Sequence[Layer]) -> None:
        metadata = json.loads((directory / "kernel.json").read_text())
        self.spec = spec = KernelSpec(**metadata["spec"])
        self.metadata: dict[str, Any] = metadata
        sizes = (spec.input_size, spec.hidden_size)
        if any(spec.batch * size * 4 % ALIGNMENT for size in sizes):
            raise Unsupported("each step's input and state must be a multiple of 64 bytes")
        set_threads(spec.threads)
        import tvm_ffi
        from tvm.runtime import load_module, tensor

        module = load_module(str(directory / "kernel.so"))
        sequence, state = (spec.length, spec.batch), (spec.batch, spec.hidden_size)
        self._input = aligned(np.zeros((*sequence, spec.input_size)))
        self._zero = tensor(np.zeros(state, np.float32))
        source = [tvm_ffi.from_dlpack(step) for step in self._input]
        self._layers = []
        for size, layer in zip(spec.input_sizes(), layers, strict=True):
            self._output = aligned(np.zeros((*sequence, spec.hidden_size)))
            output = [tvm_ffi.from_dlpack(step) for step in self._output]
            cells = [tensor(np.zeros(state, np.float32)) for _ in range(2)]
            parameters = [tensor(np.ascontiguousarray(value)) for value in layer]
            steps = list(zip(source, output, strict=True))
            self._layers.append((module[f"step_{size}"], parameters, steps, cells))
            source = output

    def set_input(self, x: Array) -> None:
        """Copy x [T, B, K] into the input."""
        self._input[...] = x

    def __call__(self) -> None:
        """Compute once; the result is complete on return."""
        for step, parameters, steps, cells in self._layers:
            h = c = self._zero
            for index, (x, output) in enumerate(steps):
                new_c = cells[index % 2]
                step(x, *parameters, h, c, output, new_c)
                h, c = output, new_c

    def result(self) -> Array:
        """y [T, B, H] of the last call."""
        return self._output


class UnrolledRunner:
    """The unrolled function."""

    def __init__(self, directory: Path, layers: Sequence[Layer]) -> None:
        metadata = json.loads((directory / "kernel.json").read_text())
        self.spec = spec = KernelSpec(**metadata["spec"])
        self.metadata: dict[str, Any] = metadata
        set_threads(spec.threads)
        from tvm.runtime import load_module, tensor

        shape = (spec.batch, spec.hidden_size)
        self._input = tensor(np.zeros((spec.length, spec.batch, spec.input_size), np.float32))
        weights = [tensor(np.ascontiguousarray(value)) for layer in layers for value in layer]
        self._outputs = [tensor(np.zeros(shape, np.float32)) for _ in range(spec.length)]
        self._function = load_module(str(directory / "kernel.so"))["main"]
        self._arguments = (self._input, *weights, *self._outputs)

    def set_input(self, x: Array) -> None:
        """Copy x [T, B, K] into the input."""
        self._input.copyfrom(x)

    def __call__(self) -> None:
        """Compute once; the result is complete on return."""
        self._function(*self._arguments)

    def result(self) -> Array:
        """y [T, B, H] of the last call."""
        return np.stack([np.from_dlpack(output) for output in self._outputs])
