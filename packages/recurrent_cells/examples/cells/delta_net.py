"""Delta rule with normalised keys and queries (DeltaNet; Yang, Wang, Zhang, Shen & Kim 2024, arXiv:2406.06484)."""

from recurrent_cells import cell, head_mean, head_sum, outer, sigmoid, sqrt


@cell("q k v b", "h s", x_only="q k v b", squares="s", heads=4)
def delta_net(q, k, v, b, s):
    q, k = q / sqrt(head_sum(q * q) + 1e-6), k / sqrt(head_sum(k * k) + 1e-6)
    s = s + outer(sigmoid(head_mean(b)) * (v - s @ k), k)
    return s @ q, s
