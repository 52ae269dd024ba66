"""LSTM (Hochreiter & Schmidhuber 1997; forget gate: Gers et al. 1999), to start from: the built-in `lstm`."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="i f g o", states="h c")
def lstm(i, f, g, o, c):
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c
