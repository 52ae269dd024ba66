"""A classifier of sequences: built layers, and the projection of their last step, which is small enough for NumPy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from measurement.contract import Unsupported
from measurement.workload import aligned_zeros
from recurrent_cells.cells import CELLS

from .run import TemplateRunner
from .runtime import Array, Layer
from .spec import KernelSpec
from .template.layout import LINE, classifier_shapes, flat_views, views_size
from .train import TrainingRunner, adam_constants, layer_buffers


class ClassifierRunner:
    """Layers, and logits [B, C] of their last step."""

    def __init__(self, directory: Path, layers: Sequence[Layer], weight: Array) -> None:
        """weight [H, C]; layers as TemplateRunner's."""
        self._layers, self._weight = TemplateRunner(directory, layers), weight
        self.spec, self.metadata = self._layers.spec, self._layers.metadata

    def __call__(self, x: Array) -> Array:
        """Logits of x [T, B, K]."""
        self._layers.set_input(x)
        self._layers()
        return self._layers.result()[-1] @ self._weight


class ClassifierTrainer:
    """A training step: layers, projection of the last step, mean cross-entropy, Adam."""

    def __init__(self, directory: Path, classes: int, optimizer: Mapping[str, Any]) -> None:
        """Load `directory`/kernel.so; optimizer: Adam's learning_rate, beta_1, beta_2 and epsilon."""
        import tvm_ffi

        metadata = json.loads((directory / "kernel.json").read_text())
        if not metadata["functions"]:
            raise Unsupported(f"the hidden size is no multiple of {LINE}")
        self.metadata, self.spec = metadata, KernelSpec(**metadata["spec"])
        shapes = classifier_shapes(CELLS[self.spec.cell], self.spec, classes)
        names = ("weights", "gradients", "first", "second")
        flat = {name: aligned_zeros((views_size(shapes),)) for name in names}
        self.weights = flat_views(flat["weights"], shapes)
        self.gradients = flat_views(flat["gradients"], shapes)
        layers = layer_buffers(self.spec, self.weights, self.gradients)
        self._layers = TrainingRunner(directory, buffers=layers)
        self._layers.output_gradient[...] = 0.0  # of all steps but the last it stays so
        self._constants = aligned_zeros((7,))
        self._adam = self._layers.module["adam"]
        self._arguments = [tvm_ffi.from_dlpack(a) for a in (self._constants, *flat.values())]
        self._optimizer, self._steps = dict(optimizer), 0
        self.loss = float("nan")

    def step(self, x: Array, targets: Array) -> None:
        """One training step on x [T, B, K] and classes [B]; complete on return."""
        rows = np.arange(len(targets))
        self._layers.input[...] = x
        self._layers.forward()
        h = self._layers.output[-1]  # [B, H]
        scores = h @ self.weights["w_output"]
        scores -= scores.max(axis=1, keepdims=True)
        e = np.exp(scores)
        total = e.sum(axis=1, keepdims=True)
        self.loss = float((np.log(total[:, 0]) - scores[rows, targets]).mean())
        e /= total
        e[rows, targets] -= 1.0
        e /= len(targets)
        np.matmul(h.T, e, out=self.gradients["w_output"])
        np.matmul(e, self.weights["w_output"].T, out=self._layers.output_gradient[-1])
        self._layers.backward()
        self._steps += 1
        self._constants[...] = adam_constants(self._optimizer, self._steps)
        self._adam(*self._arguments)
