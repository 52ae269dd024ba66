"""Layers with their weights in a folder, and how they run on NumPy's arrays: without PyTorch, without TVM's compiler."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from recurrent_cells.cells import Cell

from .arguments import check_array, check_states
from .native import load as load_functions
from .runtime import Array, set_threads
from .spec import KernelSpec
from .target import runs_on
from .template.layout import state_sizes
from .train import allocated

FILES = ("layers.json", "weights.npz")


def save(kernel: Path, folder: Path, cell: Cell, packed: Sequence[Array]) -> None:
    """Put a kernel of inference and its packed weights into a folder; what it had before goes, but not from processes that
    have loaded it."""
    folder.mkdir(parents=True, exist_ok=True)
    # Named by what it is: a process loads a path once, and one whose library is written over ends.
    name = f"kernel-{hashlib.sha256((kernel / 'kernel.so').read_bytes()).hexdigest()[:16]}.so"
    found = json.loads((kernel / "kernel.json").read_text())
    states = state_sizes(cell, KernelSpec(**found["spec"]))
    starts = {name: cell.start(name) for name in states}
    described = {
        **{"spec": found["spec"], "target": found["target"]},
        **{"states": states, "starts": starts, "library": name},
    }
    with tempfile.TemporaryDirectory(dir=folder) as made:
        shutil.copy(kernel / "kernel.so", Path(made, name))
        np.savez(Path(made, "weights.npz"), *packed)
        Path(made, "layers.json").write_text(json.dumps(described, indent=2) + "\n")
        for one in (name, "weights.npz", "layers.json"):
            os.replace(Path(made, one), folder / one)
    for library in folder.glob("kernel*.so"):
        if library.name != name:
            library.unlink()


def load(folder: str | Path) -> SavedLayers:
    """What `Recurrent.save` left in a folder."""
    return SavedLayers(Path(folder))


class SavedLayers:
    """y, states = layers(x) of NumPy arrays in the batch and length that they were saved for. Not for two threads at once."""

    def __init__(self, folder: Path) -> None:
        missing = [name for name in FILES if not (folder / name).is_file()]
        if missing:
            raise FileNotFoundError(f"{folder} has no {missing[0]}: no saved layers lie there")
        found = json.loads((folder / "layers.json").read_text())
        library = folder / found.get("library", "kernel.so")
        if not library.is_file():
            raise FileNotFoundError(f"{folder} has no {library.name}: no saved layers lie there")
        if not runs_on(found["target"]):
            mcpu = found["target"].get("mcpu")
            raise ValueError(f"{folder} is compiled for {mcpu}, which this CPU is not")
        self.spec = spec = KernelSpec(**found["spec"])
        set_threads(spec.threads)
        self._main = load_functions(library.resolve())["main"]
        import tvm_ffi

        with np.load(folder / "weights.npz") as stored:
            packed = [_aligned(stored[name]) for name in stored.files]
        shapes = {name: (spec.depth, spec.batch, size) for name, size in found["states"].items()}
        self._shapes = shapes
        self._x = allocated((spec.length, spec.batch, spec.input_size))
        self._y = allocated((spec.length, spec.batch, spec.output_size))
        self._starts = found["starts"]
        self._initial = {name: allocated(shape) for name, shape in shapes.items()}
        self._final = {name: allocated(shape) for name, shape in shapes.items()}
        buffers = [self._x, *packed, *self._initial.values(), self._y, *self._final.values()]
        self._arguments = [tvm_ffi.from_dlpack(one) for one in buffers]

    def __call__(
        self, x: Array, initial: Mapping[str, Array] | None = None
    ) -> tuple[Array, dict[str, Array]]:
        """y [T, B, H] and the final states {name: [depth, B, H]}, of x [T, B, K] and the initial states, unless given those of the cell."""
        check_array("x", x, self._x.shape, "length, batch, inputs")
        check_states("initial", initial, self._shapes)
        self._x[...] = x
        for name, to in self._initial.items():
            to[...] = initial[name] if initial and name in initial else self._starts[name]
        self._main(*self._arguments)
        return self._y.copy(), {name: one.copy() for name, one in self._final.items()}


def _aligned(value: Array) -> Array:
    made = allocated(value.shape)
    made[...] = value
    return made
