"""Recurrent cells, written in ten lines: layers of them for PyTorch, a float64 reference, and sources for frameworks.

`from recurrent_cells import cell, sigmoid, tanh` is what a cell is written with, `Recurrent` makes layers of it.
`cell_file.load` reads a cell from a file, `sources.generate` writes its step in the operators of a framework.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .cells import (
    CELLS,
    Cell,
    CellError,
    absolute,
    cell,
    cos,
    exp,
    head_mean,
    head_sum,
    log,
    maximum,
    minimum,
    norm,
    outer,
    relu,
    sigmoid,
    sign,
    sin,
    softplus,
    sqrt,
    tanh,
    where,
)

__all__ = [
    "CELLS",
    "Cell",
    "CellError",
    "Recurrent",
    "absolute",
    "cell",
    "cos",
    "exp",
    "head_mean",
    "head_sum",
    "log",
    "maximum",
    "minimum",
    "norm",
    "outer",
    "relu",
    "sigmoid",
    "sign",
    "sin",
    "softplus",
    "sqrt",
    "tanh",
    "where",
]


def __getattr__(name: str) -> Any:
    """What is not needed to write a cell, where it is first wanted: PyTorch is for `Recurrent` only."""
    if name == "Recurrent":
        try:
            return import_module(f"{__name__}.module").Recurrent
        except ModuleNotFoundError as missing:
            if missing.name != "torch":
                raise
            raise ImportError("Recurrent needs PyTorch: pip install torch") from None
    if name in ("cell_file", "sources"):
        return import_module(f"{__name__}.{name}")
    if name != "__version__":
        raise AttributeError(f"module {__name__} has no {name}")
    try:
        return version("recurrent-cells")
    except PackageNotFoundError:
        raise AttributeError(f"{__name__} is not installed: it has no version") from None
