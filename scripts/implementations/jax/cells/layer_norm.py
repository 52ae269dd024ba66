"""LSTM with layer normalisation of its gates and of its memory."""

from jax import lax, nn
from jax import numpy as jnp


def norm(x, gain, shift):
    x = x - x.mean(1, keepdims=True)
    return x * lax.rsqrt((x * x).mean(1, keepdims=True) + 1e-5) * gain + shift


def step(from_input, states, w_recurrent, own):
    h, c = states
    a_i, b_i, a_f, b_f, a_g, b_g, a_o, b_o, a_c, b_c = own
    i, f, g, o = jnp.split(from_input + h @ w_recurrent, 4, axis=1)
    i, f = nn.sigmoid(norm(i, a_i, b_i)), nn.sigmoid(norm(f, a_f, b_f))
    g, o = jnp.tanh(norm(g, a_g, b_g)), nn.sigmoid(norm(o, a_o, b_o))
    c = f * c + i * g
    return [o * jnp.tanh(norm(c, a_c, b_c)), c]
