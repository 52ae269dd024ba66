"""The recurrent cells: their gates, states and weights, as data. Their equations are in `steps`; without NumPy, as Shapes."""

from collections import namedtuple

Cell = namedtuple("Cell", "gates biases states vectors gains keeps takes")
"""A cell. gates: in the order of its matrices, [D or H, gates * H]. biases: one for each of its sums, of a gate one, of a
gate whose products of x and of h are kept apart two, `n.x` and `n.h`. states: the output first. vectors: weights with one
value a unit; gains: those of them that begin around 1. keeps: the bias or vector that makes a unit remember; takes: the one
that lets it take in (None: what it does not keep)."""


def _cell(gates, states, biases=None, vectors="", gains="", keeps="f", takes=None):
    parts = (gates, biases or gates, states, vectors, gains)
    return Cell(*[tuple(part.split()) for part in parts], keeps=keeps, takes=takes)


CELLS = {
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


PARTS = ("input", "recurrent", "bias", "vectors")  # of a layer's weights


def parts(cell):
    """What a layer's weights are called after its prefix, in order."""
    return PARTS if CELLS[cell].vectors else PARTS[:-1]
