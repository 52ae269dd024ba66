"""Quasi-recurrent network, fo-pooling, filters of width 1 (Bradbury, Merity, Xiong & Socher 2017, arXiv:1611.01576)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="z f o", x_only="z f o", states="h c")
def qrnn(z, f, o, c):
    f = sigmoid(f)
    c = f * c + (1 - f) * tanh(z)
    return sigmoid(o) * c, c
