"""Undamped coupled oscillators (UnICORNN; Rusch & Mishra 2021, arXiv:2103.05487)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="v", x_only="v", states="h z", vectors="w c")
def unicornn(v, h, z, w, c, dt=0.1, alpha=1.0):
    step = dt * sigmoid(c)
    z = z - step * (tanh(w * h + v) + alpha * h)
    return h + step * z, z
