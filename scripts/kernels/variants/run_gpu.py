"""Run step functions on a GPU: launched by the host one by one, or all of them at once as a CUDA graph."""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from measurement.contract import Unsupported

from ..runtime import ALIGNMENT, Array, Layer
from ..spec import KernelSpec

PINNED = 3  # kDLCUDAHost, which has no name in TVM 0.27
BYTE_OFFSET = 40  # of DLTensor's last field; its data is the first
RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


class _Moved:
    """A view into a larger tensor as one whose data begins there: TVM's functions take no others."""

    def __init__(self, view: Any) -> None:
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        self._capsule, self._device = view.__dlpack__(), view.__dlpack_device__()
        tensor = pointer(self._capsule, b"dltensor")
        data = ctypes.c_uint64.from_address(tensor)
        offset = ctypes.c_uint64.from_address(tensor + BYTE_OFFSET)
        data.value, offset.value = data.value + offset.value, 0

    def __dlpack__(self, **_: object) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def parts(tensor: Any) -> list[Any]:
    """A tensor [T, ...] of float32 as T tensors on the same memory."""
    import tvm_ffi

    length, *shape = map(int, tensor.shape)
    size = 4 * math.prod(shape)
    views = [tensor._create_view(shape, relative_byte_offset=t * size) for t in range(length)]
    return [tvm_ffi.from_dlpack(_Moved(view)) for view in views]


class SplitStepsRunner:
    """The step as four functions (te_lstm.split_step_functions), which the host launches one by one, on a GPU (or on a CPU,
    for tests)."""

    def __init__(self, directory: Path, layers: Sequence[Layer], device: str = "cuda") -> None:
        metadata = json.loads((directory / "kernel.json").read_text())
        self.spec = spec = KernelSpec(**metadata["spec"])
        self.metadata: dict[str, Any] = metadata
        if any(4 * spec.batch * size % ALIGNMENT for size in (spec.input_size, spec.hidden_size)):
            raise Unsupported("each step's input and state must be a multiple of 64 bytes")
        import tvm
        from tvm.runtime import empty, load_module, tensor

        self.device = tvm.device(device, 0)
        if not self.device.exist:
            raise Unsupported(f"TVM finds no {device} device")

        def zeros(*shape: int) -> Any:
            return tensor(np.zeros(shape, np.float32), device=self.device)

        module = load_module(str(directory / "kernel.so"))
        sequence, state = (spec.length, spec.batch), (spec.batch, spec.hidden_size)
        self._input = self._output = zeros(*sequence, spec.input_size)
        pinned = tvm.device("cpu") if device == "cpu" else tvm.runtime.Device(PINNED, 0)
        self._host = empty((*sequence, spec.input_size), "float32", pinned)
        gates = (spec.batch, 4 * spec.hidden_size)
        self._zero, self._cells = zeros(*state), (zeros(*state), zeros(*state))
        self._sums = zeros(*gates), zeros(*gates)
        names = ("recurrent", "cell", "hidden")
        self._recurrent, self._cell, self._hidden = (module[name] for name in names)
        self._layers = []
        for size, layer in zip(spec.input_sizes(), layers, strict=True):
            source, self._output = self._output, zeros(*sequence, spec.hidden_size)
            parameters = [tensor(np.ascontiguousarray(v), device=self.device) for v in layer]
            steps = list(zip(parts(source), parts(self._output), strict=True))
            self._layers.append((module[f"projected_{size}"], parameters, steps))

    def launch(self) -> None:
        """Queue all steps."""
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

    def pinned(self, x: Array) -> Any:
        """x [T, B, K] in memory that a GPU reads by itself."""
        return self._host.copyfrom(x)

    def set_input(self, x: Any) -> None:
        """Copy x [T, B, K], an array or what `pinned` made of it, to the device."""
        self._input.copyfrom(x)

    def __call__(self) -> None:
        """Start one computation; `synchronise` waits for it."""
        self.launch()

    def synchronise(self) -> None:
        """Return when the device has finished."""
        self.device.sync()

    def result(self) -> Array:
        """y [T, B, H] of the last call."""
        return self._output.numpy()


def captured(device: Any, launch: Callable[[], None]) -> Callable[[], None]:
    """Record what `launch` queues on a stream; -> a call that queues it all. By the driver's own functions, as TVM has
    none for graphs."""
    import tvm_ffi

    driver = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *arguments: Any) -> None:
        if status := getattr(driver, name)(*arguments):
            raise RuntimeError(f"{name}: CUDA error {status}")

    stream = device.create_raw_stream()
    handle = stream if isinstance(stream, ctypes.c_void_p) else ctypes.c_void_p(stream)
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    device.sync()  # what was copied there is there
    with tvm_ffi.use_raw_stream(device, handle):
        launch()  # loads the kernels and takes workspaces, which no graph can hold
        device.sync(handle)
        call("cuStreamBeginCapture_v2", handle, RELAXED)
        launch()
        call("cuStreamEndCapture", handle, ctypes.byref(graph))
    call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    # On the device's own stream, on which input is copied and which `synchronise` waits for.
    return lambda: call("cuGraphLaunch", executable, None)


class GraphRunner(SplitStepsRunner):
    """The same functions, captured as one CUDA graph by the first computation and replayed by all. capture: how (for tests
    on a CPU, another way)."""

    def __init__(self, *given: Any, capture: Callable = captured, **more: Any) -> None:
        super().__init__(*given, **more)
        self._capture, self._replay = capture, None

    def __call__(self) -> None:
        if self._replay is None:
            self._replay = self._capture(self.device, self.launch)
        self._replay()
