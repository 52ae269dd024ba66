"""Real-gated linear recurrent unit (De et al. 2024, arXiv:2402.19427)."""

from recurrent_cells import cell, exp, sigmoid, softplus, sqrt


@cell(gates="r i x_in", x_only="r i x_in", states="h", vectors="decay")
def real_gated_lru(r, i, x_in, h, decay, c=8.0):
    a = exp(-c * softplus(decay) * sigmoid(r))
    return a * h + sqrt(1 - a * a) * (sigmoid(i) * x_in)
