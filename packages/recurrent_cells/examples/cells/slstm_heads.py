"""LSTM with exponential gates and recurrent matrices of four heads (sLSTM; Beck et al. 2024, arXiv:2405.04517)."""

from recurrent_cells import cell, exp, maximum, sigmoid, tanh


@cell(gates="i f z o", states="h c n m", heads=4)
def slstm_heads(i, f, z, o, c, n, m):
    new = maximum(f + m, i)
    i, f = exp(i - new), exp(f + m - new)
    c = f * c + i * tanh(z)
    n = f * n + i
    return sigmoid(o) * (c / n), c, n, new
