"""LSTM with layer normalisation of its gates and of its memory, each with a gain a and a shift b (Ba et al. 2016)."""

from .language import cell, norm, sigmoid, tanh


@cell(gates="i f g o", states="h c", vectors="a_i=1 b_i a_f=1 b_f a_g=1 b_g a_o=1 b_o a_c=1 b_c")
def layer_norm(i, f, g, o, c, a_i, b_i, a_f, b_f, a_g, b_g, a_o, b_o, a_c, b_c):
    i, f = sigmoid(a_i * norm(i) + b_i), sigmoid(a_f * norm(f) + b_f)
    g, o = tanh(a_g * norm(g) + b_g), sigmoid(a_o * norm(o) + b_o)
    c = f * c + i * g
    return o * tanh(a_c * norm(c) + b_c), c
