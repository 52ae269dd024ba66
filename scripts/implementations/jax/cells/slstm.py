"""LSTM with exponential gates, a normaliser and a stabiliser."""

from jax import nn
from jax import numpy as jnp


def step(from_input, states, w_recurrent, own):
    h, c, n, m = states
    i, f, z, o = jnp.split(from_input + h @ w_recurrent, 4, axis=1)
    f = f + m
    m = jnp.maximum(f, i)
    i, f = jnp.exp(i - m), jnp.exp(f - m)
    c = f * c + i * jnp.tanh(z)
    n = f * n + i
    return [nn.sigmoid(o) * c / n, c, n, m]
