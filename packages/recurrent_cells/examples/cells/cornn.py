"""Coupled oscillators (coRNN; Rusch & Mishra 2021, arXiv:2010.00951)."""

from recurrent_cells import cell, tanh


@cell(gates="a", states="h z", matrices="u")
def cornn(a, h, z, u, dt=0.05, gamma=2.0, epsilon=4.0):
    z = z + dt * (tanh(a + z @ u) - gamma * h - epsilon * z)
    return h + dt * z, z
