"""Arguments held against what a kernel takes, before anything is computed: what is wrong is said in one line that names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from recurrent_cells.cells import Cell

Sizes = Sequence[int]
Check = Callable[[str, Any, Sizes, str], None]
"""check(name, value, shape, what its axes are): raises where the value is something else."""


def weight_names(cell: Cell) -> list[str]:
    """The weights of one layer in their order (see cells.language.Cell)."""
    projection = ["w_projection"] if cell.projected else []
    return ["w_input", "w_recurrent", "bias", *cell.vectors, *projection]


def check_array(name: str, value: Any, shape: Sizes, axes: str) -> None:
    """A NumPy array of float32 in this shape. Its strides are its own affair: it is copied."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} is {_kind(value)}, not a NumPy array")
    if value.dtype != np.float32:
        raise TypeError(f"{name} has {value.dtype}, not float32: .astype(np.float32)")
    check_shape(name, value.shape, shape, axes)


def check_shape(name: str, found: Sizes, shape: Sizes, axes: str) -> None:
    """The very shape, nothing that could be broadcast to it."""
    if tuple(found) != tuple(shape):
        raise ValueError(f"{name} has the shape {tuple(found)}, not {tuple(shape)} ({axes})")


def check_layers(cell: Cell, layers: Any, shapes: Sequence[Sequence[Sizes]], check: Check) -> None:
    """Weights of every layer, layer by layer."""
    if not isinstance(layers, Sequence) or isinstance(layers, str):
        raise TypeError(f"the weights are {_kind(layers)}, not a list of layers")
    if len(layers) != len(shapes):
        raise ValueError(f"weights of {len(layers)} layers, not of {len(shapes)}")
    names = weight_names(cell)
    for number, (own, wanted) in enumerate(zip(layers, shapes, strict=True)):
        if not isinstance(own, Sequence) or len(own) != len(names):
            found = len(own) if isinstance(own, Sequence) else _kind(own)
            raise ValueError(f"layer {number} has {found} weights, not {_listed(names)}")
        check_weights(cell, number, own, wanted, check)


def check_weights(
    cell: Cell, number: int, own: Sequence[Any], shapes: Sequence[Sizes], check: Check
) -> None:
    """One layer's weights, as many as there are."""
    axes = {
        "w_input": f"inputs, hidden units of each gate: {' '.join(cell.x_gates)}",
        "w_recurrent": f"outputs, hidden units of each gate: {' '.join(cell.h_gates)}",
        "bias": f"hidden units of each sum: {' '.join(cell.declared_sums)}",
        "w_projection": "hidden units, outputs",
    }
    for name, value, shape in zip(weight_names(cell), own, shapes, strict=True):
        check(f"{name} of layer {number}", value, shape, axes.get(name, "hidden units"))


def check_states(
    what: str,
    given: Mapping[str, Any] | None,
    shapes: Mapping[str, Sizes],
    check: Check = check_array,
) -> None:
    """States by name; those that are not there are zero."""
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} is {_kind(given)}, not a mapping of the states {_listed(shapes)}")
    for name, value in given.items():
        if name not in shapes:
            raise ValueError(f"{what} has {name!r}; the states are {_listed(shapes)}")
        check(f"{what}[{name!r}]", value, shapes[name], "layers, batch, values")


def _kind(value: Any) -> str:
    made = type(value)
    plain = made.__module__ in ("builtins", "__main__")
    return f"a {made.__name__}" if plain else f"a {made.__module__}.{made.__name__}"


def _listed(names: Any) -> str:
    names = list(names)
    return f"{len(names)} ({', '.join(map(str, names))})" if len(names) > 1 else str(names[0])
