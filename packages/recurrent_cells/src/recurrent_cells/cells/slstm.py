"""LSTM with exponential gates, a normaliser n and a stabiliser m (sLSTM; Beck et al. 2024, equations 8 to 18)."""

from .language import cell, exp, maximum, sigmoid, tanh


@cell(gates="i f z o", states="h c n m")
def slstm(i, f, z, o, c, n, m):
    new = maximum(f + m, i)
    i, f = exp(i - new), exp(f + m - new)
    c = f * c + i * tanh(z)
    n = f * n + i
    return sigmoid(o) * (c / n), c, n, new
