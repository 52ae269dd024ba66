"""MinimalRNN (Chen 2017, arXiv:1711.06788)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="z u", x_only="z", h_only="u", states="h", matrices="v")
def minimal_rnn(z, u, h, v):
    z = tanh(z)
    u = sigmoid(u + z @ v)
    return u * h + (1 - u) * z
