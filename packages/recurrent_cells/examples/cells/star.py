"""Stackable recurrent cell (STAR; Turkoglu, D'Aronco, Wegner & Schindler 2020, arXiv:1911.11033)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="z k", x_only="z", states="h")
def star(z, k, h):
    k = sigmoid(k)
    return tanh((1 - k) * h + k * tanh(z))
