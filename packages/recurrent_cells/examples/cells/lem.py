"""Long expressive memory (LEM; Rusch, Mishra, Erichson & Mahoney 2022, arXiv:2110.04744)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="t s a b", x_only="b", states="h z", matrices="u")
def lem(t, s, a, b, h, z, u, dt=1.0):
    t, s = dt * sigmoid(t), dt * sigmoid(s)
    z = (1 - t) * z + t * tanh(a)
    return (1 - s) * h + s * tanh(z @ u + b), z
