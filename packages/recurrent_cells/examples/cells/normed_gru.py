"""GRU with layer normalisation of its sums of x and of h apart (Ba, Kiros & Hinton 2016, arXiv:1607.06450)."""

from recurrent_cells import cell, norm, sigmoid, tanh


@cell(gates="z r n", apart="z r n", states="h", vectors="a_z=1 c_z=1 a_r=1 c_r=1 a_n=1 c_n=1")
def normed_gru(z, r, n, h, a_z, c_z, a_r, c_r, a_n, c_n):
    z, r = sigmoid(a_z * norm(z.x) + c_z * norm(z.h)), sigmoid(a_r * norm(r.x) + c_r * norm(r.h))
    n = tanh(a_n * norm(n.x) + r * (c_n * norm(n.h)))
    return (1 - z) * h + z * n
