"""LSTM with layer normalisation of its gates and of its memory (Ba et al. 2016)."""

from .language import cell, norm, sigmoid, tanh

VECTORS = "gain_i shift_i gain_f shift_f gain_g shift_g gain_o shift_o gain_c shift_c"


@cell(gates="i f g o", states="h c", vectors=VECTORS)
def layer_norm(
    i,
    f,
    g,
    o,
    c,
    gain_i,
    shift_i,
    gain_f,
    shift_f,
    gain_g,
    shift_g,
    gain_o,
    shift_o,
    gain_c,
    shift_c,
):
    i = sigmoid(gain_i * norm(i) + shift_i)
    f = sigmoid(gain_f * norm(f) + shift_f)
    g = tanh(gain_g * norm(g) + shift_g)
    o = sigmoid(gain_o * norm(o) + shift_o)
    c = f * c + i * g
    return o * tanh(gain_c * norm(c) + shift_c), c
