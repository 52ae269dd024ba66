"""Delta-RNN (Ororbia, Mikolov & Reitter 2017, arXiv:1703.08864)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="w", apart="w", states="h", vectors="alpha=2 beta_1=1 beta_2=1 b_r")
def delta_rnn(w, h, alpha, beta_1, beta_2, b_r):
    z = tanh(alpha * w.h * w.x + beta_1 * w.h + beta_2 * w.x)
    r = sigmoid(w.x + b_r)
    return tanh((1 - r) * z + r * h)
