"""Run the functions of training: nothing here needs TVM's compiler."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .cells import CELLS, Cell
from .run import ALIGNMENT, set_threads
from .spec import KernelSpec
from .template.layout import Array, Layer


def allocated(shape: Sequence[int], dtype: Any = np.float32) -> Array:
    """Zeros whose memory begins where TVM's functions want it."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


@dataclass(frozen=True)
class Gradients:
    """Gradients of a loss: of x [T, B, K], of the initial states {name: [depth, B, H]}, and of the weights of every
    layer in their order. Views of buffers that the next backward pass writes again."""

    x: Array
    initial: dict[str, Array]
    layers: list[Layer]


class _TrainedLayer:
    """One layer's buffers, and its functions on them."""

    def __init__(
        self, module: Any, suffix: str, functions: Mapping[str, Any], shared: dict[str, Array]
    ) -> None:
        """shared: buffers that another layer has too, by name."""
        import tvm_ffi

        self.buffers = dict(shared)
        for shapes in functions.values():
            for name, shape in shapes.items():
                if name not in self.buffers:
                    self.buffers[name] = allocated(shape)
        tensors = {name: tvm_ffi.from_dlpack(value) for name, value in self.buffers.items()}
        self._calls = {
            name: (module[name + suffix], [tensors[key] for key in shapes])
            for name, shapes in functions.items()
        }

    def __call__(self, name: str) -> None:
        function, arguments = self._calls[name]
        function(*arguments)


class TrainingRunner:
    """A built stack of layers that can be trained."""

    def __init__(self, directory: Path, cell: Cell | None = None) -> None:
        """Load `directory`/kernel.so; cell: what was compiled, where it is none of those in cells/."""
        metadata = json.loads((directory / "kernel.json").read_text())
        self.metadata: dict[str, Any] = metadata
        self.spec = spec = KernelSpec(**metadata["spec"])
        self.cell = cell or CELLS[spec.cell]
        set_threads(spec.threads)
        from tvm.runtime import load_module

        self.module = load_module(str(directory / "kernel.so"))
        self._layers: list[_TrainedLayer] = []
        names = ("pack", "forward", "backward", "gradients")
        shared: dict[str, Array] = {}
        for number in range(spec.depth):
            suffix = "_rest" if number else "_first"
            functions = {name: metadata["functions"][name + suffix] for name in names}
            layer = _TrainedLayer(self.module, suffix, functions, shared)
            self._layers.append(layer)
            shared = {"x": layer.buffers["states"][1:]}
            if number + 1 < spec.depth:
                # What flows back into a layer is what the one above leaves.
                shared["dx"] = layer.buffers["dy"]
        self._hidden = spec.hidden_size

    @property
    def input(self) -> Array:
        """x [T, B, K]: may be written instead of being handed over."""
        return self._layers[0].buffers["x"][..., : self.spec.input_size]

    @property
    def output(self) -> Array:
        """y [T, B, H] of the last layer."""
        return self._layers[-1].buffers["states"][1:, :, : self._hidden]

    @property
    def output_gradient(self) -> Array:
        """dy [T, B, H]: may be written instead of being handed over."""
        return self._layers[-1].buffers["dy"][..., : self._hidden]

    def weights(self) -> list[Layer]:
        """Every layer's weights: the arrays themselves, which `pack` reads."""
        names = ["w_input", "w_recurrent", "w_bias"]
        found = []
        for layer in self._layers:
            vectors = list(layer.buffers["w_vectors"]) if self.cell.vectors else []
            found.append([*(layer.buffers[name] for name in names), *vectors])
        return found

    def set_weights(self, layers: Sequence[Layer]) -> None:
        """Take the weights of every layer (see layout.Layer)."""
        for own, given in zip(self.weights(), layers, strict=True):
            for to, value in zip(own, given, strict=True):
                to[...] = value

    def forward(self, initial: Mapping[str, Array] | None = None) -> None:
        """Compute `output` from `input` and the initial states {name: [depth, B, H]}, zero unless given."""
        for number, layer in enumerate(self._layers):
            for name in self.cell.states:
                first = name == self.cell.states[0]
                to = layer.buffers["states"][0] if first else layer.buffers[name]
                to[...] = 0.0
                if initial is not None:
                    to[:, : self._hidden] = initial[name][number]
            layer("pack")
            layer("forward")

    def final(self) -> dict[str, Array]:
        """The states {name: [depth, B, H]} that the last forward pass left."""
        found = {}
        for name in self.cell.states:
            first = name == self.cell.states[0]
            own = [
                each.buffers["states"][-1] if first else each.buffers[name] for each in self._layers
            ]
            found[name] = np.array(own)[..., : self._hidden]
        return found

    def backward(self, final: Mapping[str, Array] | None = None) -> None:
        """Gradients of everything from `output_gradient` and those of the final states {name: [depth, B, H]}, zero
        unless given. Once for each forward pass: what that kept is used up."""
        for number, layer in reversed(list(enumerate(self._layers))):
            for name in self.cell.states:
                to = layer.buffers[f"d_{name}"]
                to[...] = 0.0
                if final is not None:
                    to[:, : self._hidden] = final[name][number]
            layer("backward")
            layer("gradients")

    def gradients(self) -> Gradients:
        """What the last backward pass found."""
        hidden, spec = self._hidden, self.spec
        layers = []
        for layer in self._layers:
            own = layer.buffers
            vectors = list(own["d_vectors"][:, :hidden]) if self.cell.vectors else []
            layers.append(
                [
                    *(
                        own[name][..., :hidden].reshape(len(own[name]), -1)
                        for name in ("d_input", "d_recurrent")
                    ),
                    own["d_bias"][:, :hidden].reshape(-1),
                    *vectors,
                ]
            )
        states = {
            name: np.array([layer.buffers[f"d_{name}"][:, :hidden] for layer in self._layers])
            for name in self.cell.states
        }
        return Gradients(self._layers[0].buffers["dx"][..., : spec.input_size], states, layers)
