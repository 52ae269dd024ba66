"""Independently recurrent network (Li, Li, Cook, Zhu & Gao 2018, arXiv:1803.04831)."""

from recurrent_cells import cell, relu


@cell(gates="a", x_only="a", states="h", vectors="u=1")
def indrnn(a, h, u):
    return relu(a + u * h)
