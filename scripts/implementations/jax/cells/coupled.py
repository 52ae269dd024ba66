"""LSTM whose input gate is what the forget gate leaves."""

from jax import nn
from jax import numpy as jnp


def step(from_input, states, w_recurrent, own):
    h, c = states
    f, g, o = jnp.split(from_input + h @ w_recurrent, 3, axis=1)
    f, g = nn.sigmoid(f), jnp.tanh(g)
    c = g + f * (c - g)
    return [nn.sigmoid(o) * jnp.tanh(c), c]
