"""Bistable recurrent cell (Vecoven, Ernst & Drion 2021, arXiv:2006.05252)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="u a c", x_only="u a c", states="h", vectors="w_a w_c")
def bistable(u, a, c, h, w_a, w_c):
    a, c = 1 + tanh(a + w_a * h), sigmoid(c + w_c * h)
    return c * h + (1 - c) * tanh(u + a * h)
