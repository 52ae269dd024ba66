"""Recurrently neuromodulated bistable cell (nBRC; Vecoven, Ernst & Drion 2021, arXiv:2006.05252)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="u a c", x_only="u", states="h")
def neuromodulated(u, a, c, h):
    a, c = 1 + tanh(a), sigmoid(c)
    return c * h + (1 - c) * tanh(u + a * h)
