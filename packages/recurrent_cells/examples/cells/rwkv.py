"""Time mixing of RWKV-4 without token shift (Peng et al. 2023, arXiv:2305.13048, in its stable form)."""

from recurrent_cells import cell, exp, maximum, sigmoid


@cell(gates="r k v", x_only="r k v", states="h a b p=-30", vectors="u w=1")
def rwkv(r, k, v, a, b, p, u, w):
    top = maximum(p, u + k)
    old, now = exp(p - top), exp(u + k - top)
    h = sigmoid(r) * (old * a + now * v) / (old * b + now)
    top = maximum(p - exp(w), k)
    old, now = exp(p - exp(w) - top), exp(k - top)
    return h, old * a + now * v, old * b + now, top
