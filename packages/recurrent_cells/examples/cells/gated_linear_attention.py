"""Gated linear attention (GLA; Yang, Wang, Shen, Panda & Kim 2023, arXiv:2312.06635), without its low rank and its output's norm."""

from recurrent_cells import cell, exp, outer, sigmoid, softplus


@cell("q k v a r", "h s", x_only="q k v a r", squares="s", heads=4)
def gated_linear_attention(q, k, v, a, r, s, tau=16.0):
    s = exp(-softplus(-a) / tau) * s + outer(k, v)
    return q @ s * r * sigmoid(r), s
