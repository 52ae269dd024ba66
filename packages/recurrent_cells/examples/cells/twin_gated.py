"""Addition-subtraction twin-gated network (ATR; Zhang, Xiong, Su, Lin & Zhang 2018, arXiv:1810.12546)."""

from recurrent_cells import cell, sigmoid


@cell(gates="p", apart="p", states="h")
def twin_gated(p, h):
    i, f = sigmoid(p.x + p.h), sigmoid(p.x - p.h)
    return i * p.x + f * h
