"""Gated recurrent unit, linear before reset."""

from jax import nn
from jax import numpy as jnp


def step(from_input, states, w_recurrent, own):
    (h,) = states
    r_x, z_x, n_x = jnp.split(from_input, 3, axis=1)
    r_h, z_h, n_h = jnp.split(h @ w_recurrent, 3, axis=1)
    r, z = nn.sigmoid(r_x + r_h), nn.sigmoid(z_x + z_h)
    n = jnp.tanh(n_x + r * (n_h + own[0]))
    return [n + z * (h - n)]
