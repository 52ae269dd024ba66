"""Run step functions on a GPU: the host calls them once for all steps, captured as a CUDA graph, and replays that."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..runtime import Array, Layer
from ..spec import KernelSpec, Unsupported

RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


def captured(device: Any, launch: Callable[[], None]) -> Callable[[], None]:
    """Record what `launch` queues on a stream; -> a call that queues it all. By the driver's own functions, as TVM has none
    for graphs."""
    import tvm_ffi

    driver = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *arguments: Any) -> None:
        if status := getattr(driver, name)(*arguments):
            raise RuntimeError(f"{name}: CUDA error {status}")

    stream = device.create_raw_stream()
    handle = stream if isinstance(stream, ctypes.c_void_p) else ctypes.c_void_p(stream)
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    with tvm_ffi.use_raw_stream(device, handle):
        launch()  # loads the kernels, which no graph can hold
        device.sync(stream)
        call("cuStreamBeginCapture_v2", handle, RELAXED)
        launch()
        call("cuStreamEndCapture", handle, ctypes.byref(graph))
    call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    # On the device's own stream, which `synchronise` waits for.
    return lambda: call("cuGraphLaunch", executable, None)


class GraphRunner:
    """`step_K` for each layer and time step, as build_steps builds them for a GPU (or for a CPU and another way to
    capture, for tests)."""

    def __init__(
        self,
        directory: Path,
        layers: Sequence[Layer],
        device: str = "cuda",
        capture: Callable = captured,
    ) -> None:
        metadata = json.loads((directory / "kernel.json").read_text())
        self.spec = spec = KernelSpec(**metadata["spec"])
        self.metadata: dict[str, Any] = metadata
        import tvm
        from tvm.runtime import load_module, tensor

        self._device, self._capture = tvm.device(device, 0), capture
        if not self._device.exist:
            raise Unsupported(f"TVM finds no {device} device")

        def zeros(*shape: int) -> Any:
            return tensor(np.zeros(shape, np.float32), device=self._device)

        module = load_module(str(directory / "kernel.so"))
        state = (spec.batch, spec.hidden_size)
        self._input = source = [zeros(spec.batch, spec.input_size) for _ in range(spec.length)]
        self._zero, self._cells = zeros(*state), (zeros(*state), zeros(*state))
        self._layers = []
        for size, layer in zip(spec.input_sizes(), layers, strict=True):
            output = [zeros(*state) for _ in range(spec.length)]
            parameters = [tensor(np.ascontiguousarray(v), device=self._device) for v in layer]
            steps = list(zip(source, output, strict=True))
            self._layers.append((module[f"step_{size}"], parameters, steps))
            source = output
        self._output = source
        self._replay: Callable[[], None] | None = None

    def set_input(self, x: Array) -> None:
        """Copy x [T, B, K] to the device."""
        for step, part in zip(self._input, x, strict=True):
            step.copyfrom(part)

    def _launch(self) -> None:
        for function, parameters, steps in self._layers:
            h = c = self._zero
            for index, (x, output) in enumerate(steps):
                new_c = self._cells[index % 2]
                function(x, *parameters, h, c, output, new_c)
                h, c = output, new_c

    def __call__(self) -> None:
        """Start one computation; `synchronise` waits for it. The first one captures it."""
        if self._replay is None:
            self._replay = self._capture(self._device, self._launch)
        self._replay()

    def synchronise(self) -> None:
        """Return when the device has finished."""
        self._device.sync()

    def result(self) -> Array:
        """y [T, B, H] of the last call."""
        return np.stack([step.numpy() for step in self._output])
