"""Recurrent cells: a small file each. What they are written in is `language`, their derivative is made by
`derivative`, what is cheap to compute by `simplify`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .coupled import coupled
from .gru import gru
from .language import (
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
from .layer_norm import layer_norm
from .lstm import lstm
from .mgu import mgu
from .peephole import peephole
from .projected import projected
from .slstm import slstm


class _Cells(dict[str, Cell]):
    def __missing__(self, name: str) -> Cell:
        """Somebody's own: `CELL` of the module `kernel` of a package of such a name."""
        if "." not in name:
            raise KeyError(name)
        found: Cell = import_module(f"{name}.kernel").CELL
        return found


CELLS = _Cells(
    (one.name, one) for one in (lstm, coupled, peephole, gru, mgu, slstm, projected, layer_norm)
)
"""The cells of this folder by name."""


def found_cell(cell: Any, user: str) -> Cell:
    """A cell, or the predefined one of a name; user: what a message begins with."""
    if isinstance(cell, Cell):
        return cell
    if isinstance(cell, str):
        if cell in CELLS:
            return CELLS[cell]
        raise ValueError(
            f"{user}: no cell {cell!r}; predefined are {', '.join(CELLS)}; a file's is cell_file.load(path)"
        )
    told = "a function without @cell(...)" if callable(cell) else repr(cell)
    raise TypeError(f"{user}: cell is {told}, not one made by @cell(...) or a name")


__all__ = [
    "CELLS",
    "Cell",
    "CellError",
    "absolute",
    "cell",
    "cos",
    "exp",
    "found_cell",
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
