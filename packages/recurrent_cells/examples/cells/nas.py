"""The cell that a search found (NASCell; Zoph & Le 2017, arXiv:1611.01578)."""

from recurrent_cells import cell, relu, sigmoid, tanh


@cell(gates="a b d e f g i j", apart="e", states="h c")
def nas(a, b, d, e, f, g, i, j, c):
    second = tanh(sigmoid(d) + relu(e.x * e.h))
    third = tanh(tanh(f) * sigmoid(g))
    fourth = sigmoid(tanh(i) + sigmoid(j))
    c = tanh(tanh(sigmoid(a) * relu(b)) + c) * second
    return tanh(c * tanh(third + fourth)), c
