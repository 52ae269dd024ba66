"""Linear recurrent unit with a complex state (LRU; Orvieto et al. 2023, arXiv:2303.06349)."""

from recurrent_cells import cell, cos, exp, sin, sqrt


@cell(gates="a b d", x_only="a b d", states="h re im", vectors="nu theta", matrices="p q")
def lru(a, b, d, re, im, nu, theta, p, q):
    size, turn = exp(-exp(nu)), exp(theta)
    gain = sqrt(1 - size * size)
    c, s = size * cos(turn), size * sin(turn)
    re, im = c * re - s * im + gain * a, s * re + c * im + gain * b
    return re @ p - im @ q + d, re, im
