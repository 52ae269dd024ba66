"""LSTM whose gates see the memory by one weight a unit (Gers & Schmidhuber 2000)."""

from .language import cell, sigmoid, tanh


@cell(gates="i f g o", states="h c", vectors="see_i see_f see_o")
def peephole(i, f, g, o, c, see_i, see_f, see_o):
    i, f = sigmoid(i + see_i * c), sigmoid(f + see_f * c)
    c = f * c + i * tanh(g)
    return sigmoid(o + see_o * c) * tanh(c), c
