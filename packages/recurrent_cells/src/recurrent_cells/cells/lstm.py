"""Long short-term memory with a forget gate (Hochreiter & Schmidhuber 1997; Gers et al. 2000)."""

from .language import cell, sigmoid, tanh


@cell(gates="i f g o", states="h c")
def lstm(i, f, g, o, c):
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c
