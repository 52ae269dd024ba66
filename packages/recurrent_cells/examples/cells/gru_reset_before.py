"""GRU as first published, its reset before the product (Cho et al. 2014, arXiv:1406.1078)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="r z n", x_only="n", states="h", matrices="u")
def gru_reset_before(r, z, n, h, u):
    n = tanh(n + (sigmoid(r) * h) @ u)
    return sigmoid(z) * h + (1 - sigmoid(z)) * n
