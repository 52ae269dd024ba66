"""LSTM whose forget gate is what its input gate leaves (CIFG; Greff et al. 2015)."""

from .language import cell, sigmoid, tanh


@cell(gates="f g o", states="h c")
def coupled(f, g, o, c):
    f = sigmoid(f)
    c = f * c + (1 - f) * tanh(g)
    return sigmoid(o) * tanh(c), c
