"""Mogrifier LSTM, two rounds, on x embedded to H values (Melis, Kocisky & Blunsom 2020, arXiv:1909.01792)."""

from recurrent_cells import cell, sigmoid, tanh


@cell("e q", "h c", x_only="e", h_only="q", vectors="bi bf bg bo", matrices="r i f g o ui uf ug uo")
def mogrifier(e, q, h, c, bi, bf, bg, bo, r, i, f, g, o, ui, uf, ug, uo):
    x = 2 * sigmoid(q) * e
    h = 2 * sigmoid(x @ r) * h
    i, f = sigmoid(x @ i + h @ ui + bi), sigmoid(x @ f + h @ uf + bf)
    c = f * c + i * tanh(x @ g + h @ ug + bg)
    return sigmoid(x @ o + h @ uo + bo) * tanh(c), c
