"""A cell of every operation on matrix states: two of them, read both ways, one after another, and gates that read the output."""

from recurrent_cells import absolute, cell, head_mean, head_sum, outer, sigmoid, tanh


@cell(
    "f g q", "h c n d=0.5", apart="g", x_only="f", h_only="q", vectors="a=1", squares="c d", heads=3
)
def matrices(f, g, q, h, c, n, d, a):
    f, k = sigmoid(head_mean(f)), tanh(g.x) / 4
    c = f * (c - outer(tanh(c @ k), k)) + outer(tanh(g.h), a * k) * 0.5
    d = 0.9 * d - q * c + outer(k, h)
    n = sigmoid(n) * n + tanh(h @ d) / (1 + absolute(head_sum(k * n)))
    return tanh(d @ q + c @ n + f), c, n, d - outer(n, f * a)
