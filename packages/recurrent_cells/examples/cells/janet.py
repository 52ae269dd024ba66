"""LSTM with a forget gate alone (JANET; van der Westhuizen & Lasenby 2018, arXiv:1804.04849)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="s g", states="h")
def janet(s, g, h, beta=1.0):
    return sigmoid(s) * h + (1 - sigmoid(s - beta)) * tanh(g)
