"""Load a built kernel and run it: nothing here needs TVM's compiler."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recurrent_cells.cells import CELLS, Cell

from .runtime import ALIGNMENT, Array, Layer, set_threads
from .spec import KernelSpec
from .template.layout import pack_stack


class TemplateRunner:
    """A built template with its packed weights and buffers."""

    def __init__(self, directory: Path, layers: Sequence[Layer], cell: Cell | None = None) -> None:
        """Load `directory`/kernel.so; layers of (w_input, w_recurrent, bias, vectors...) are packed here."""
        metadata = json.loads((directory / "kernel.json").read_text())
        spec = KernelSpec(**metadata["spec"])
        set_threads(spec.threads)
        import tvm_ffi
        from tvm.runtime import load_module, tensor

        self.spec = spec
        self.metadata: dict[str, Any] = metadata
        cell = cell or CELLS[spec.cell]
        gates = metadata["schedule"]["gates"]
        packed = pack_stack(cell, layers, metadata["lanes"], gates, spec.paired)
        states = dict.fromkeys(cell.states, (spec.depth, spec.batch, spec.hidden_size))
        sequence = (spec.length, spec.batch)
        self.input = tensor(np.zeros((*sequence, spec.input_size), np.float32))
        self.initial = {
            name: tensor(np.full(shape, cell.start(name), np.float32))
            for name, shape in states.items()
        }
        outputs = [(*sequence, spec.hidden_size), *states.values()]
        self.outputs = tuple(tensor(np.zeros(shape, np.float32)) for shape in outputs)
        given = [tensor(value) for value in packed if value.size]
        self._arguments = (self.input, *given, *self.initial.values(), *self.outputs)
        self.module = load_module(str(directory / "kernel.so"))
        self._function: tvm_ffi.Function = self.module["main"]

    def set_input(self, x: Array) -> None:
        """Take x [T, B, K] as the input: itself if it is aligned, as the workload's is, else a copy."""
        import tvm_ffi

        if x.ctypes.data % ALIGNMENT:
            self.input.copyfrom(x)
            x = self.input
        else:
            x = tvm_ffi.from_dlpack(x)
        self._arguments = (x, *self._arguments[1:])

    def __call__(self) -> None:
        """Compute once; the result is complete on return."""
        self._function(*self._arguments)

    def result(self) -> Array:
        """y [T, B, H] of the last layer in the last call: a view of the kernel's buffer."""
        return np.from_dlpack(self.outputs[0])


class LanguageModelRunner:
    """Embedding, the layers' kernel and projection, from one library: tokens to logits."""

    def __init__(
        self, directory: Path, layers: Sequence[Layer], embedding: Array, weight: Array, bias: Array
    ) -> None:
        """embedding [V, K]; weight [H, V] and bias [V] of the projection; layers as TemplateRunner's."""
        self._layers = TemplateRunner(directory, layers)
        self.spec, self.metadata = self._layers.spec, self._layers.metadata
        from tvm.runtime import tensor

        from .template.language_model import pack_projection

        rows = self.spec.length * self.spec.batch
        self._tokens = tensor(np.zeros(rows, np.int64))
        self._logits = tensor(np.zeros((rows, len(bias)), np.float32))
        x = self._layers.input._create_view((rows, self.spec.input_size))
        y = self._layers.outputs[0]._create_view((rows, self.spec.hidden_size))
        projection = pack_projection(weight, bias, self.metadata["columns"])
        self._embed = self._layers.module["embed"]
        self._project = self._layers.module["project"]
        self._embedding = (self._tokens, tensor(embedding), x)
        self._projection = (y, *map(tensor, projection), self._logits)

    def __call__(self, tokens: Array) -> None:
        """Compute once from tokens [T, B] (int64); the result is complete on return."""
        self._tokens.copyfrom(tokens.reshape(-1))
        self._embed(*self._embedding)
        self._layers()
        self._project(*self._projection)

    def result(self) -> Array:
        """Logits [T, B, V] of the last call."""
        logits = np.from_dlpack(self._logits)
        return logits.reshape(self.spec.length, self.spec.batch, -1)
