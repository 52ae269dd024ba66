"""A cell of every kind of product: of heads, of one matrix several times, turned, one after another, and turned alone."""

from recurrent_cells import cell, sigmoid, tanh


@cell("f g q", "h c", apart="g", x_only="f", h_only="q", vectors="a=1", matrices="u v w", heads=3)
def products(f, g, q, h, c, a, u, v, w):
    c = sigmoid(q) * c + tanh(g.x + (sigmoid(g.h) * h) @ u)
    turned = tanh(c @ u.T + a * f) @ v
    return tanh(h @ w.T + turned @ u - c), tanh(c + (1 - sigmoid(f)) @ v)
