"""Recurrent highway network, three layers deep in each step (Zilly et al. 2017, arXiv:1607.03474)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="a t", states="h", vectors="b_2 c_2 b_3 c_3", matrices="a_2 t_2 a_3 t_3")
def recurrent_highway(a, t, h, b_2, c_2, b_3, c_3, a_2, t_2, a_3, t_3):
    t = sigmoid(t)
    h = tanh(a) * t + h * (1 - t)
    t = sigmoid(h @ t_2 + c_2)
    h = tanh(h @ a_2 + b_2) * t + h * (1 - t)
    t = sigmoid(h @ t_3 + c_3)
    return tanh(h @ a_3 + b_3) * t + h * (1 - t)
