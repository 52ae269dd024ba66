"""Recurrent cells: a small file each. What they are written in is `language`, their derivative is made by
`derivative`, what is cheap to compute by `simplify`."""

from __future__ import annotations

from .coupled import coupled
from .gru import gru
from .language import Cell, cell, exp, maximum, norm, sigmoid, tanh
from .layer_norm import layer_norm
from .lstm import lstm
from .mgu import mgu
from .peephole import peephole
from .projected import projected
from .slstm import slstm

CELLS: dict[str, Cell] = {
    one.name: one for one in (lstm, coupled, peephole, gru, mgu, slstm, projected, layer_norm)
}
"""The cells of this folder by name."""

__all__ = ["CELLS", "Cell", "cell", "exp", "maximum", "norm", "sigmoid", "tanh"]
