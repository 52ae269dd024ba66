"""Recurrent cells, written in ten lines: the language, its float64 reference, and sources for frameworks.

`from recurrent_cells import cell, sigmoid, tanh` is what a cell is written with; `cell_file.load` reads one from a file,
`sources.generate` writes its step in the operators of a framework.
"""

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
    log,
    maximum,
    minimum,
    norm,
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
    "absolute",
    "cell",
    "cos",
    "exp",
    "log",
    "maximum",
    "minimum",
    "norm",
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
    if name != "__version__":
        raise AttributeError(f"module {__name__} has no {name}")
    try:
        return version("recurrent-cells")
    except PackageNotFoundError:
        raise AttributeError(f"{__name__} is not installed: it has no version") from None
