"""LSTM whose output is projected to fewer values (Sak et al. 2014)."""

from .language import cell, sigmoid, tanh


@cell(gates="i f g o", states="h c", projected=True)
def projected(i, f, g, o, c):
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c
