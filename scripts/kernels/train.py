"""Run the functions of training: nothing here needs TVM's compiler."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from measurement.contract import Unsupported
from measurement.workload import aligned_zeros
from recurrent_cells.cells import CELLS, Cell

from .runtime import Array, Layer, set_threads
from .spec import KernelSpec
from .template.layout import LINE, flat_shapes, flat_size, flat_views


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
                    self.buffers[name] = aligned_zeros(shape)
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

    def __init__(
        self,
        directory: Path,
        cell: Cell | None = None,
        buffers: Sequence[Mapping[str, Array]] | None = None,
    ) -> None:
        """Load `directory`/kernel.so; cell: what was compiled, where it is none of those in cells/; buffers: for
        every layer those that are there already, by name."""
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
            given = buffers[number] if buffers else {}
            layer = _TrainedLayer(self.module, suffix, functions, {**given, **shared})
            self._layers.append(layer)
            shared = {"x": layer.buffers["states"][1:]}
            if number + 1 < spec.depth:
                # What flows back into a layer is what the one above leaves.
                shared["dx"] = layer.buffers["dy"]
        self._hidden = spec.hidden_size

    def whole(self, name: str) -> Array:
        """A buffer in whole lines: `x` and `dx` of the first layer, `y` and `dy` of the last one."""
        layer = self._layers[0 if name in ("x", "dx") else -1]
        return layer.buffers["states"][1:] if name == "y" else layer.buffers[name]

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
            none = np.zeros((self._hidden, 0), np.float32)  # no gate reads h
            own = (layer.buffers.get(name, none) for name in names)
            found.append([*own, *vectors])
        return found

    def set_weights(self, layers: Sequence[Layer]) -> None:
        """Take the weights of every layer (see layout.Layer)."""
        for own, given in zip(self.weights(), layers, strict=True):
            for to, value in zip(own, given, strict=True):
                to[...] = value

    def forward(self, initial: Mapping[str, Array] | None = None) -> None:
        """Compute `output` from `input` and the initial states {name: [depth, B, H]}; unless given, those of the cell."""
        for number, layer in enumerate(self._layers):
            for name in self.cell.states:
                first = name == self.cell.states[0]
                to = layer.buffers["states"][0] if first else layer.buffers[name]
                to[...] = 0.0
                given = self.cell.start(name) if initial is None else initial[name][number]
                to[:, : self._hidden] = given
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
            rest = list(own["d_vectors"][:, :hidden]) if self.cell.vectors else []
            layers.append(
                [
                    *(
                        own[name][..., :hidden].reshape(len(own[name]), -1)
                        if name in own
                        else np.zeros((self._hidden, 0), np.float32)
                        for name in ("d_input", "d_recurrent")
                    ),
                    own["d_bias"][:, :hidden].reshape(-1),
                    *rest,
                ]
            )
        states = {
            name: np.array([layer.buffers[f"d_{name}"][:, :hidden] for layer in self._layers])
            for name in self.cell.states
        }
        return Gradients(self._layers[0].buffers["dx"][..., : spec.input_size], states, layers)


def layer_buffers(
    spec: KernelSpec, weights: Mapping[str, Array], gradients: Mapping[str, Array]
) -> list[dict[str, Array]]:
    """The weights and gradients of every layer, by the names of layout.flat_shapes, as buffers of a TrainingRunner."""
    layers = []
    for number in range(spec.depth):
        own = {}
        for name in ("w_input", "w_recurrent", "w_bias", "w_vectors"):
            key = f"{number}.{name}"
            if key in weights and weights[key].size:
                own[name] = weights[key]
                # Gates, units: sizes in whole lines have no padding.
                shape = weights[key].shape
                split = shape if name == "w_vectors" else (*shape[:-1], -1, spec.hidden_size)
                own[name.replace("w_", "d_")] = gradients[key].reshape(split)
        layers.append(own)
    return layers


def adam_constants(optimizer: Mapping[str, Any], step: int) -> tuple[float, ...]:
    """What the function `adam` wants for a step, the first one 1."""
    beta_1, beta_2 = optimizer["beta_1"], optimizer["beta_2"]
    rates = optimizer["learning_rate"] / (1 - beta_1**step), 1 / (1 - beta_2**step)
    return beta_1, 1 - beta_1, beta_2, 1 - beta_2, *rates, optimizer["epsilon"]


class ModelTrainer:
    """A built language model's training step: embedding, layers, projection, mean cross-entropy, Adam."""

    def __init__(self, directory: Path, optimizer: Mapping[str, Any]) -> None:
        """Load `directory`/kernel.so; optimizer: Adam's learning_rate, beta_1, beta_2 and epsilon."""
        import tvm_ffi

        metadata = json.loads((directory / "kernel.json").read_text())
        if not metadata["functions"]:
            raise Unsupported(f"an embedding or hidden size is no multiple of {LINE}")
        spec, vocabulary = KernelSpec(**metadata["spec"]), metadata["vocabulary"]
        cell = CELLS[spec.cell]
        shapes = flat_shapes(cell, spec, vocabulary)
        size = flat_size(cell, spec, vocabulary)
        flat = {n: aligned_zeros((size,)) for n in ("weights", "gradients", "first", "second")}
        self._weights = flat_views(flat["weights"], shapes)
        self._gradients = flat_views(flat["gradients"], shapes)
        layers = layer_buffers(spec, self._weights, self._gradients)
        self._layers = TrainingRunner(directory, buffers=layers)
        self.spec, self.metadata = spec, metadata
        self._optimizer, self._steps = dict(optimizer), 0
        functions = metadata["functions"]
        self._rows = spec.length * spec.batch
        chunk = functions["scores"]["targets"][0]
        buffers = {
            "tokens": aligned_zeros((self._rows,), np.int64),
            "targets": aligned_zeros((self._rows,), np.int64),
            "losses": aligned_zeros((self._rows,)),
            "h": self._layers.whole("y").reshape(self._rows, -1),
            "d_h": self._layers.whole("dy").reshape(self._rows, -1),
            "x": self._layers.whole("x").reshape(self._rows, -1),
            "dx": self._layers.whole("dx").reshape(self._rows, -1),
            **flat,
            **self._weights,
            **{"d_" + name: value for name, value in self._gradients.items()},
        }
        for name in ("pack_output", "scores", "d_hidden", "d_output", "adam"):
            for key, shape in functions[name].items():
                if key not in buffers:
                    buffers[key] = aligned_zeros(shape)
        self._buffers = buffers

        def call(name: str, part: slice | None = None) -> tuple[Any, list[Any]]:
            arguments = []
            for key in functions[name]:
                value = buffers[key]
                if part is not None and key in ("h", "d_h", "targets", "losses"):
                    value = value[part]
                arguments.append(tvm_ffi.from_dlpack(value))
            return self._layers.module[name], arguments

        whole = ("pack_output", "unpack_output", "embed_rows", "d_embedding", "adam")
        self._calls = {name: call(name) for name in whole}
        self._parts = [
            [call(name, slice(start, start + chunk)) for name in ("scores", "d_hidden", "d_output")]
            for start in range(0, self._rows, chunk)
        ]

    def _call(self, name: str) -> None:
        function, arguments = self._calls[name]
        function(*arguments)

    def weights(self) -> dict[str, Array]:
        """The weights themselves, by the names of layout.flat_shapes."""
        return self._weights

    def gradients(self) -> dict[str, Array]:
        """The gradients of the last step, by the same names."""
        return self._gradients

    def loss(self) -> float:
        """The mean cross-entropy of the last step."""
        return float(self._buffers["losses"].mean(dtype=np.float64))

    def step(self, tokens: Array, targets: Array) -> None:
        """One training step on tokens and targets [T, B] (int64); complete on return."""
        buffers = self._buffers
        buffers["tokens"][...] = tokens.reshape(-1)
        buffers["targets"][...] = targets.reshape(-1)
        self._call("embed_rows")
        self._layers.forward()
        self._call("pack_output")
        buffers["d_columns"][...] = 0.0
        buffers["d_column_bias"][...] = 0.0
        for part in self._parts:
            for function, arguments in part:
                function(*arguments)
        self._call("unpack_output")
        self._layers.backward()
        self._call("d_embedding")
        self._steps += 1
        buffers["constants"][...] = adam_constants(self._optimizer, self._steps)
        self._call("adam")
