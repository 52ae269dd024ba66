"""Multiplicative LSTM (Krause, Lu, Murray & Renals 2016, arXiv:1609.07959)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="a b i f g o", x_only="a i f g o", h_only="b", states="h c", matrices="u_i u_f u_g u_o")
def multiplicative(a, b, i, f, g, o, c, u_i, u_f, u_g, u_o):
    m = a * b
    c = sigmoid(f + m @ u_f) * c + sigmoid(i + m @ u_i) * tanh(g + m @ u_g)
    return tanh(c) * sigmoid(o + m @ u_o), c
