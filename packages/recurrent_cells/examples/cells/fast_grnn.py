"""FastGRNN, its two scalars one a unit (Kusupati et al. 2018, arXiv:1901.02358)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="a", states="h", vectors="b zeta=1 nu=-4")
def fast_grnn(a, h, b, zeta, nu):
    z = sigmoid(a)
    return (sigmoid(zeta) * (1 - z) + sigmoid(nu)) * tanh(a + b) + z * h
