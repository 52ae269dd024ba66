"""LSTM with multiplicative integration, its two betas 1 (Wu, Zhang, Zhang, Bengio & Salakhutdinov 2016, arXiv:1606.06630)."""

from recurrent_cells import cell, sigmoid, tanh


@cell(gates="i f g o", apart="i f g o", states="h c", vectors="a_i=1 a_f=1 a_g=1 a_o=1")
def multiplicative_integration(i, f, g, o, c, a_i, a_f, a_g, a_o):
    i, f = sigmoid(a_i * i.x * i.h + i.x + i.h), sigmoid(a_f * f.x * f.h + f.x + f.h)
    c = f * c + i * tanh(a_g * g.x * g.h + g.x + g.h)
    return sigmoid(a_o * o.x * o.h + o.x + o.h) * tanh(c), c
