"""Run the variants without a template: step functions from the host, or one unrolled function."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .run import ALIGNMENT, Array, Layer, Result, set_threads
from .spec import KernelSpec, Unsupported


class StepsRunner:
    """`project_K` once a layer, then `step` for each time step, as build_steps builds them."""

    def __init__(self, directory: Path, layers: Sequence[Layer]) -> None:
        metadata = json.loads((directory / "kernel.json").read_text())
        self.spec = spec = KernelSpec(**metadata["spec"])
        self.metadata: dict[str, Any] = metadata
        if spec.batch * spec.hidden_size * 4 % ALIGNMENT:
            raise Unsupported("each step's state must be a multiple of 64 bytes")
        set_threads(spec.threads)
        from tvm.runtime import load_module, tensor

        module = load_module(str(directory / "kernel.so"))
        self._step = module["step"]
        rows, hidden = spec.length * spec.batch, spec.hidden_size
        self._input = tensor(np.zeros((rows, spec.input_size), np.float32))
        self._zero = tensor(np.zeros((spec.batch, hidden), np.float32))
        projected = tensor(np.zeros((rows, 4 * hidden), np.float32))
        steps = _views(projected, (spec.length, spec.batch, 4 * hidden))
        self._layers = []
        source = self._input
        for size, layer in zip(spec.input_sizes(), layers, strict=True):
            output = tensor(np.zeros((rows, hidden), np.float32))
            cells = [tensor(np.zeros((spec.batch, hidden), np.float32)) for _ in range(2)]
            w_input, w_recurrent, bias = (tensor(np.ascontiguousarray(v)) for v in layer)
            self._layers.append(
                (
                    lambda f=module[f"project_{size}"], a=(source, w_input, projected): f(*a),
                    (w_recurrent, bias),
                    steps,
                    _views(output, (spec.length, spec.batch, hidden)),
                    cells,
                )
            )
            source = output
        self._output = source

    def set_input(self, x: Array) -> None:
        """Copy x [T, B, K] into the input."""
        self._input.copyfrom(x.reshape(-1, x.shape[-1]))

    def __call__(self) -> None:
        """Compute once; the result is complete on return."""
        step = self._step
        for project, parameters, projected, outputs, cells in self._layers:
            project()
            h = c = self._zero
            for index, (p, output) in enumerate(zip(projected, outputs, strict=True)):
                new_c = cells[index % 2]
                step(p, *parameters, h, c, output, new_c)
                h, c = output, new_c

    def result(self) -> Result:
        """Outputs of the last call."""
        spec = self.spec
        last = (spec.length - 1) % 2
        y = np.from_dlpack(self._output).reshape(spec.length, spec.batch, spec.hidden_size)
        h = np.stack([np.from_dlpack(layer[3][-1]) for layer in self._layers])
        c = np.stack([np.from_dlpack(layer[4][last]) for layer in self._layers])
        return Result(y, h, c)


class UnrolledRunner:
    """The unrolled function; it has the last layer's output only, so h and c are its last step
    and empty."""

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

    def result(self) -> Result:
        """Outputs of the last call."""
        y = np.stack([np.from_dlpack(output) for output in self._outputs])
        return Result(y, y[-1:], np.empty((0, *y.shape[1:]), np.float32))


def _views(whole: Any, shape: tuple[int, ...]) -> list[Any]:
    """The tensor seen as one tensor for each index of the first axis of `shape`, not copied."""
    import tvm_ffi

    array = np.from_dlpack(whole).reshape(shape)
    array.flags.writeable = True
    return [tvm_ffi.from_dlpack(part) for part in array]
