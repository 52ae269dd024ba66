"""The way in: a cell and sizes to an object that runs, on NumPy's arrays and on PyTorch's tensors."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recurrent_cells.cells import Cell
from recurrent_cells.graph import graph_digest

from .arguments import check_array, check_layers, check_states
from .runtime import Array, Layer, set_threads
from .spec import KernelSpec
from .target import runs_on
from .template.layout import state_sizes
from .train import Gradients, TrainingRunner

FILES = ("kernel.so", "kernel.json")
_LOADED: dict[Path, str] = {}  # by digest: the system loads a path once


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
    """Compile layers of a cell for this machine, this batch and this length, with the template's default schedule.

    threads: all cores unless given; all kernels of a process have the same. directory: where kernel.so and
    kernel.json go and `load_cell` finds them; unless given, a temporary one that goes with the object.
    projection_size: P, of a cell that projects its output.
    """
    _check_cell(cell)
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

    temporary = None if directory is not None else tempfile.TemporaryDirectory(prefix="cell-")
    folder = Path(temporary.name if temporary else directory)
    target = cpu_target(spec.threads)
    build_training(
        spec, default_schedule(spec, target, cell), target, folder, cell, graph_digest(cell)
    )
    return CompiledCell(cell, folder, temporary)


def load_cell(cell: Cell, directory: str | Path) -> CompiledCell:
    """What `compile_cell` or `CompiledCell.save` left in a folder. TVM's compiler is not needed."""
    return CompiledCell(cell, Path(directory), None)


class CompiledCell:
    """Layers of a cell, compiled for their sizes. Not to be used by two threads at a time.

    Every argument is held against what the kernels take before anything is computed: ValueError or TypeError, one line.
    """

    def __init__(self, cell: Cell, directory: Path, temporary: Any) -> None:
        _check_cell(cell)
        self.cell = cell
        self.directory = directory
        self._temporary = temporary
        _check_library(cell, directory)
        self._runner = TrainingRunner(directory, cell)
        self.spec = self._runner.spec
        states = state_sizes(cell, self.spec)
        self._states = {n: (self.spec.depth, self.spec.batch, size) for n, size in states.items()}
        self._final: dict[str, Array] | None = None
        self._kept = False

    def save(self, directory: str | Path) -> None:
        """Copy the library and its metadata into a folder."""
        Path(directory).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory) as made:
            for name in FILES:  # none is written over: a process whose library is ends
                shutil.copy(self.directory / name, made)
                os.replace(Path(made, name), Path(directory, name))

    def weight_shapes(self) -> list[list[tuple[int, ...]]]:
        """For every layer the shapes of w_input [K, x_gates * H], w_recurrent [H, h_gates * H], bias [sums * H] and each
        vector [H], of a cell that projects at last w_projection [H, P].

        Columns lie gate by gate, H of each, in the order in which the cell declares them (`cell.x_gates`, `cell.h_gates`: all
        gates, unless some read x or h alone), the bias sum by sum (`cell.declared_sums`: those that read x, gate by gate,
        then those of h alone, of gates kept apart and of those that read no x).
        """
        return [[value.shape for value in layer] for layer in self._runner.weights()]

    def forward(
        self, x: Array, layers: Sequence[Layer], initial: Mapping[str, Array] | None = None
    ) -> Array:
        """x [T, B, K] -> y [T, B, H], from initial states {name: [depth, B, H]}, those as the cell begins that are not given."""
        check_array("x", x, self._runner.input.shape, "length, batch, inputs")
        check_layers(self.cell, layers, self.weight_shapes(), check_array)
        check_states("initial", initial, self._states)
        self._runner.set_weights(layers)
        self._runner.input[...] = x
        self._runner.forward(self._whole(initial, starts=True))
        self._final, self._kept = self._runner.final(), True
        return self._runner.output.copy()

    def final(self) -> dict[str, Array]:
        """The states {name: [depth, B, H]} that the last pass left, of `forward` or of `torch`: arrays of one's own."""
        if self._final is None:
            raise RuntimeError(
                "final() wants a pass before it: forward(x, layers) or torch(x, ...)"
            )
        return {name: value.copy() for name, value in self._final.items()}

    def backward(self, d_y: Array, d_final: Mapping[str, Array] | None = None) -> Gradients:
        """Gradients of everything, once after a `forward`, from that of y and of the final states (zero unless
        given). They are views of buffers that the next one writes."""
        if not self._kept:
            raise RuntimeError(
                "backward() wants a forward() before it, and each can be gone backward once"
            )
        check_array("d_y", d_y, self._runner.output_gradient.shape, "length, batch, outputs")
        check_states("d_final", d_final, self._states)
        self._kept = False
        self._runner.output_gradient[...] = d_y
        self._runner.backward(self._whole(d_final))
        return self._runner.gradients()

    def torch(self, x: Any, *weights: Any) -> Any:
        """y [T, B, H] of PyTorch tensors, which gradients flow back through, once; states begin with zero.

        weights: those of every layer, one after another, in the order of `weight_shapes`. Tensors are shared with
        the kernels where their memory is as these want it: contiguous, begun at a cache line, and rows of whole
        cache lines; others are copied. As everywhere in PyTorch, they must stay as they are until `backward`.
        """
        from .torch_function import apply

        y, final = apply(self._runner, self.weight_shapes(), x, weights)
        self._final = final
        return y

    def _whole(
        self, given: Mapping[str, Array] | None, starts: bool = False
    ) -> Mapping[str, Array] | None:
        """States with what the cell begins with, or zeros, for those that are not given."""
        if given is None:
            return None
        return {
            n: given.get(n, np.full(shape, self.cell.start(n) if starts else 0.0, np.float32))
            for n, shape in self._states.items()
        }


def _check_cell(cell: Any) -> None:
    if not isinstance(cell, Cell):
        told = "a function without @cell(...)" if callable(cell) else repr(cell)
        raise TypeError(f"cell is {told}, not one made by recurrent_cells.cells.cell")


def _check_library(cell: Cell, directory: Path) -> None:
    """A folder with a library of this very cell, for training, that this machine can run."""
    missing = [name for name in FILES if not (directory / name).is_file()]
    if missing:
        raise FileNotFoundError(f"{directory} has no {missing[0]}: no compiled cell lies there")
    try:
        metadata = json.loads((directory / "kernel.json").read_text())
        kind, name, graph = metadata["kind"], metadata["spec"]["cell"], metadata.get("graph")
        target = metadata["target"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{directory}/kernel.json is not a kernel's: {error!r}") from None
    if kind != "training":
        raise ValueError(f"{directory} holds a kernel of the kind {kind}, not a compiled cell")
    if name != cell.name:
        raise ValueError(f"{directory} holds layers of {name}, not of {cell.name}")
    if graph != graph_digest(cell):
        raise ValueError(f"{directory} holds another {cell.name}: it computes something else")
    if not runs_on(target):
        raise ValueError(f"{directory} is compiled for {target.get('mcpu')}, which this CPU is not")
    library = (directory / "kernel.so").resolve()
    digest = hashlib.sha256(library.read_bytes()).hexdigest()
    if _LOADED.setdefault(library, digest) != digest:
        raise RuntimeError(
            f"{directory} had another library when this process loaded it: another folder, or another process"
        )
