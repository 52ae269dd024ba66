"""Chaos-free network (CFN; Laurent & von Brecht 2017, arXiv:1612.06212)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="f i g", x_only="g", states="h")
def chaos_free(f, i, g, h):
    return sigmoid(f) * tanh(h) + sigmoid(i) * tanh(g)
