"""LSTM whose gates read its memory (Landi, Baraldi, Cornia & Cucchiara 2021, arXiv:2109.00020)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="i f g o", states="h c", matrices="w_i w_f w_o")
def working_memory(i, f, g, o, c, w_i, w_f, w_o):
    i, f = sigmoid(i + tanh(c @ w_i)), sigmoid(f + tanh(c @ w_f))
    c = f * c + i * tanh(g)
    return sigmoid(o + tanh(c @ w_o)) * tanh(c), c
