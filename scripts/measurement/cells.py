"""The recurrent cells: their gates, states and weights, as data. Their equations are in `steps`; without NumPy, as Shapes.

A name that begins with OWN is a cell that somebody wrote in the kernels' language (`make cell`): the package of that name,
with what was generated of the file for the reference and each framework.
"""

import importlib
from collections import namedtuple

OWN = "own."

Cell = namedtuple(
    "Cell", "gates biases states vectors around keeps takes starts of_x of_h heads matrices squares"
)
Cell.__new__.__defaults__ = (1, (), ())  # heads, matrices, squares
"""A cell. gates: of_x and of_h are those that read x and those that read h, all of them but in cells of one's own, in the
order of the matrices, [D, of_x * H] and [H, columns * H / heads]: the columns are those of of_h, then those of `matrices`, by
which a step multiplies; with heads these are block-diagonal, and the rows of a head have its blocks side by side. biases: one for each of its sums, of a gate one, of a
gate whose products of x and of h are kept apart two, `n.x` and `n.h`; those of sums of h alone come last. squares: states that
are a matrix per head, [B, H, H / heads]. starts: what each
state begins with. states: the output first. vectors: weights with one
value a unit; around: the value around which each of them begins. keeps: the bias or vector that makes a unit remember; takes: the one
that lets it take in (None: what it does not keep)."""


def _cell(gates, states, biases=None, vectors="", gains="", keeps="f", takes=None):
    gates, biases, states, vectors = (
        tuple(part.split()) for part in (gates, biases or gates, states, vectors)
    )
    around = tuple(float(name in gains.split()) for name in vectors)
    starts = (0.0,) * len(states)
    return Cell(gates, biases, states, vectors, around, keeps, takes, starts, gates, gates)


class Known(dict):
    """Something of each cell by its name; of one of somebody's own what `made` makes of its package."""

    def __init__(self, cells, made):
        super(Known, self).__init__(cells)
        self.made = made

    def __missing__(self, name):
        if not name.startswith(OWN):
            raise KeyError(name)
        return self.made(name)

    def __contains__(self, name):
        return super(Known, self).__contains__(name) or name.startswith(OWN)


def generated(framework, attribute):
    """-> of a cell's name what was generated of it for a framework."""
    return lambda name: getattr(importlib.import_module(name + "." + framework), attribute)


def reference_of(name):
    """The module that was generated of a cell of somebody's own for the reference."""
    return importlib.import_module(name + ".reference")


BUILT_IN = {
    "lstm": _cell("i f g o", "h c", takes="i"),
    "gru": _cell("r z n", "h", biases="r z n.x n.h", keeps="z"),
    "coupled": _cell("f g o", "h c"),
    "peephole": _cell("i f g o", "h c", vectors="see_i see_f see_o", takes="i"),
    "layer-norm": _cell(
        "i f g o",
        "h c",
        vectors="a_i b_i a_f b_f a_g b_g a_o b_o a_c b_c",
        gains="a_i a_f a_g a_o a_c",
        keeps="b_f",
        takes="b_i",
    ),
    "slstm": _cell("i f z o", "h c n m"),
}
CELLS = Known(BUILT_IN, lambda name: Cell(**reference_of(name).CELL))


def state_shapes(cell, batch, hidden):
    """The shape of each state."""
    square = (batch, hidden, hidden // cell.heads)
    return [square if name in cell.squares else (batch, hidden) for name in cell.states]


def columns(cell):
    """Matrices side by side in the recurrent one, of a Cell."""
    return len(cell.of_h) + len(cell.matrices)


def stacked(cell):
    """Whether one product takes x and h side by side: of the same gates, and of nothing else."""
    return cell.of_x == cell.of_h and cell.heads == 1 and not cell.matrices


PARTS = ("input", "recurrent", "bias", "vectors")  # of a layer's weights


def parts(cell):
    """What a layer's weights are called after its prefix, in order."""
    return PARTS if CELLS[cell].vectors else PARTS[:-1]
