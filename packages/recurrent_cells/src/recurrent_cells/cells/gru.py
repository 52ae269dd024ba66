"""Gated recurrent unit, linear before reset (Cho et al. 2014, in the form that cuDNN has)."""

from .language import cell, sigmoid, tanh


@cell(gates="r z n", apart="n", states="h")
def gru(r, z, n, h):
    n = tanh(n.x + sigmoid(r) * n.h)
    z = sigmoid(z)
    return (1 - z) * n + z * h
