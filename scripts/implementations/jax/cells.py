"""Cells in JAX: one step each, of which every style here makes layers."""

from jax import nn
from jax import numpy as jnp


def lstm(from_input, h, c, w_recurrent):
    """from_input [B, 4H], h and c [B, H], w_recurrent [H, 4H] -> the next h and c."""
    i, f, g, o = jnp.split(from_input + h @ w_recurrent, 4, axis=1)  # [B, H] each
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
    return nn.sigmoid(o) * jnp.tanh(c), c
