"""LSTM with a matrix memory per head (mLSTM; Beck et al. 2024, arXiv:2405.04517, equations 19 to 27), keys scaled by their weights."""

from recurrent_cells import absolute, cell, exp, head_mean, head_sum, maximum, outer, sigmoid


@cell("q k v i f o", "h c n m", x_only="q k v i f o", squares="c", heads=4)
def mlstm(q, k, v, i, f, o, c, n, m):
    i, f = head_mean(i), head_mean(f)
    new = maximum(f + m, i)
    i, f = exp(i - new), exp(f + m - new)
    c, n = f * c + outer(i * v, k), f * n + i * k
    h = c @ q / maximum(absolute(head_sum(n * q)), exp(-new))
    return sigmoid(o) * h, c, n, new
