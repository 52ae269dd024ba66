"""The way in: a cell and sizes to an object that runs, on NumPy's arrays and on PyTorch's tensors."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .cells import Cell
from .runtime import Array, Layer, set_threads
from .spec import KernelSpec
from .train import Gradients, TrainingRunner

FILES = ("kernel.so", "kernel.json")


def compile_cell(
    cell: Cell,
    batch: int,
    length: int,
    input_size: int,
    hidden_size: int,
    depth: int = 1,
    threads: int | None = None,
    directory: str | Path | None = None,
    projection_size: int = 0,
) -> CompiledCell:
    """Compile layers of a cell for this machine, with the template's default schedule.

    threads: all cores unless given; all kernels of a process have the same. directory: where kernel.so and
    kernel.json go and `load_cell` finds them; unless given, a temporary one that goes with the object.
    projection_size: P, of a cell that projects its output.
    """
    if cell.projected != bool(projection_size):
        told = "wants a projection_size" if cell.projected else "projects nothing"
        raise ValueError(f"cell {cell.name} {told}")
    threads = threads or os.cpu_count() or 1
    sizes = batch, length, input_size, hidden_size, depth
    spec = KernelSpec(*sizes, threads, cell.name, projection_size)
    set_threads(spec.threads)
    from .build import build_training
    from .search.space import default_schedule
    from .target import cpu_target

    temporary = None if directory else tempfile.TemporaryDirectory(prefix="cell-")
    folder = Path(directory or temporary.name)
    target = cpu_target(spec.threads)
    build_training(spec, default_schedule(spec, target, cell), target, folder, cell)
    return CompiledCell(cell, folder, temporary)


def load_cell(cell: Cell, directory: str | Path) -> CompiledCell:
    """What `compile_cell` or `CompiledCell.save` left in a folder. TVM's compiler is not needed."""
    return CompiledCell(cell, Path(directory), None)


class CompiledCell:
    """Layers of a cell, compiled for their sizes. Not to be used by two threads at a time."""

    def __init__(self, cell: Cell, directory: Path, temporary: Any) -> None:
        self.cell = cell
        self.directory = directory
        self._temporary = temporary
        self._runner = TrainingRunner(directory, cell)
        self.spec = self._runner.spec
        if self.spec.cell != cell.name:
            raise ValueError(f"{directory} holds layers of {self.spec.cell}, not of {cell.name}")

    def save(self, directory: str | Path) -> None:
        """Copy the library and its metadata into a folder."""
        Path(directory).mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copy(self.directory / name, directory)

    def weight_shapes(self) -> list[list[tuple[int, ...]]]:
        """For every layer the shapes of w_input, w_recurrent, bias and each vector (see cells.language.Cell)."""
        return [[value.shape for value in layer] for layer in self._runner.weights()]

    def forward(
        self, x: Array, layers: Sequence[Layer], initial: Mapping[str, Array] | None = None
    ) -> Array:
        """x [T, B, K] -> y [T, B, H], from initial states {name: [depth, B, H]}, zero unless given."""
        self._runner.set_weights(layers)
        self._runner.input[...] = x
        self._runner.forward(initial)
        return self._runner.output.copy()

    def final(self) -> dict[str, Array]:
        """The states {name: [depth, B, H]} that the last forward pass left."""
        return self._runner.final()

    def backward(self, d_y: Array, d_final: Mapping[str, Array] | None = None) -> Gradients:
        """Gradients of everything, once after a forward pass, from that of y and of the final states (zero unless
        given). They are views of buffers that the next one writes."""
        self._runner.output_gradient[...] = d_y
        self._runner.backward(d_final)
        return self._runner.gradients()

    def torch(self, x: Any, *weights: Any) -> Any:
        """y [T, B, H] of PyTorch tensors, which gradients flow back through; states begin with zero.

        weights: those of every layer, one after another, in the order of `weight_shapes`. Tensors are shared with
        the kernels where their memory is as these want it: contiguous, begun at a cache line, and rows of whole
        cache lines; others are copied.
        """
        from .torch_function import apply

        return apply(self._runner, x, weights)
