"""Update gate RNN (UGRNN; Collins, Sohl-Dickstein & Sussillo 2017, arXiv:1611.09913)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="c g", states="h")
def update_gate(c, g, h):
    g = sigmoid(g)
    return g * h + (1 - g) * tanh(c)
