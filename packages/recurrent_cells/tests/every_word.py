"""A cell of everything that the language has."""

from math import pi

from recurrent_cells import (
    absolute,
    cell,
    cos,
    exp,
    log,
    maximum,
    minimum,
    norm,
    relu,
    sigmoid,
    sign,
    sin,
    softplus,
    sqrt,
    tanh,
    where,
)

HALF = 1 / 2


def mixed(a, b, z):
    return z * a + (1 - z) * b


@cell(gates="f g q z", states="h c n=1 k", x_only="f g", h_only="q", vectors="a=1 u")
def many(f, g, q, z, h, c, n, k, a, u, alpha=0.1, limit=2.5):
    f, opened = sigmoid(f), g > alpha
    c = minimum(maximum(f * c + (1 - f) * tanh(g), -limit), limit)
    root = sqrt(softplus(q) * abs(c) + HALF) / (1 + exp(-z))
    n = n * 0.5 + log(1 + root**2)
    h = where(opened, mixed(h, relu(sin(z * pi) * u + cos(c)), f), a * norm(c / n))
    return (
        h,
        c,
        n,
        (c >= h) + (q < 0.3) * (k <= c) * k * HALF + sign(g) * absolute(k) * 0.1 + minimum(k, c),
    )
