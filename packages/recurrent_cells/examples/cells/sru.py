"""Simple recurrent unit, its highway through a matrix (Lei, Zhang, Wang, Dai & Artzi 2018, arXiv:1709.02755)."""

from recurrent_cells import cell, sigmoid


@cell(gates="w f r k", x_only="w f r k", states="h c", vectors="v_f v_r")
def sru(w, f, r, k, c, v_f, v_r):
    f, r = sigmoid(f + v_f * c), sigmoid(r + v_r * c)
    c = f * c + (1 - f) * w
    return r * c + (1 - r) * k, c
