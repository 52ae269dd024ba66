"""LSTM."""

from jax import nn
from jax import numpy as jnp


def step(from_input, states, w_recurrent, own):
    h, c = states
    i, f, g, o = jnp.split(from_input + h @ w_recurrent, 4, axis=1)
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
    return [nn.sigmoid(o) * jnp.tanh(c), c]
