"""Minimal gated unit (Zhou et al. 2016), linear before its gate as in `gru`."""

from .language import cell, sigmoid, tanh


@cell(gates="f n", apart="n", states="h")
def mgu(f, n, h):
    f = sigmoid(f)
    n = tanh(n.x + f * n.h)
    return (1 - f) * h + f * n
