"""Run the variants without a template: step functions from the host, or one unrolled function."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from measurement.workload import aligned

from ..runtime import ALIGNMENT, Array, Layer, set_threads
from ..spec import KernelSpec, Unsupported


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


class SplitStepsRunner:
    """The step as four functions, as build_cuda builds them, on a GPU (or on a CPU, for tests)."""

    def __init__(self, directory: Path, layers: Sequence[Layer], device: str = "cuda") -> None:
        metadata = json.loads((directory / "kernel.json").read_text())
        self.spec = spec = KernelSpec(**metadata["spec"])
        self.metadata: dict[str, Any] = metadata
        import tvm
        from tvm.runtime import load_module, tensor

        self._device = tvm.device(device, 0)
        if not self._device.exist:
            raise Unsupported(f"TVM finds no {device} device")

        def zeros(*shape: int) -> Any:
            return tensor(np.zeros(shape, np.float32), device=self._device)

        module = load_module(str(directory / "kernel.so"))
        self._recurrent, self._cell, self._hidden = (
            module[name] for name in ("recurrent", "cell", "hidden")
        )
        state, gates = (spec.batch, spec.hidden_size), (spec.batch, 4 * spec.hidden_size)
        # A tensor a step: TVM's functions take no views into a larger one.
        self._input = source = [zeros(spec.batch, spec.input_size) for _ in range(spec.length)]
        self._zero, self._cells = zeros(*state), (zeros(*state), zeros(*state))
        self._sums = zeros(*gates), zeros(*gates)
        self._layers = []
        for size, layer in zip(spec.input_sizes(), layers, strict=True):
            output = [zeros(*state) for _ in range(spec.length)]
            parameters = [tensor(np.ascontiguousarray(v), device=self._device) for v in layer]
            steps = list(zip(source, output, strict=True))
            self._layers.append((module[f"projected_{size}"], parameters, steps))
            source = output
        self._output = source

    def set_input(self, x: Array) -> None:
        """Copy x [T, B, K] to the device."""
        for step, part in zip(self._input, x, strict=True):
            step.copyfrom(part)

    def __call__(self) -> None:
        """Start one computation; `synchronise` waits for it."""
        projected, recurrent = self._sums
        for project, (w_input, w_recurrent, bias), steps in self._layers:
            h = c = self._zero
            for index, (x, output) in enumerate(steps):
                new_c = self._cells[index % 2]
                project(x, w_input, projected)
                self._recurrent(h, w_recurrent, recurrent)
                self._cell(projected, recurrent, bias, c, new_c)
                self._hidden(projected, recurrent, bias, new_c, output)
                h, c = output, new_c

    def synchronise(self) -> None:
        """Return when the device has finished."""
        self._device.sync()

    def result(self) -> Array:
        """y [T, B, H] of the last call."""
        return np.stack([step.numpy() for step in self._output])


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
