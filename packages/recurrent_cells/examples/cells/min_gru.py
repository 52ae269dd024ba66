"""Minimal GRU that a scan computes, in its logarithmic form's nonlinearity (minGRU; Feng et al. 2024, arXiv:2410.01201)."""

from recurrent_cells import cell, sigmoid, where


@cell(gates="z n", x_only="z n", states="h")
def min_gru(z, n, h):
    z = sigmoid(z)
    return (1 - z) * h + z * where(n >= 0, n + 0.5, sigmoid(n))
