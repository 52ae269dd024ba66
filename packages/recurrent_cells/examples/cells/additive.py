"""Recurrent additive network (RAN; Lee, Levy & Zettlemoyer 2017, arXiv:1705.07393)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="g i f", x_only="g", states="h c")
def additive(g, i, f, c):
    c = sigmoid(i) * g + sigmoid(f) * c
    return tanh(c), c
