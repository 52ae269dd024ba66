"""Light GRU without its batch normalisation (Ravanelli, Brakel, Omologo & Bengio 2018, arXiv:1803.10225)."""

from recurrent_cells import cell, relu, sigmoid


@cell(gates="z a", states="h")
def light_gru(z, a, h):
    z = sigmoid(z)
    return z * h + (1 - z) * relu(a)
