"""Hierarchically gated network with a complex state, read by its real part (HGRN; Qin, Yang & Zhong 2023, arXiv:2311.04823)."""

from recurrent_cells import cell, cos, sigmoid, sin


@cell(gates="f g a b", x_only="f g a b", states="h re im", vectors="floor theta", matrices="p")
def hgrn(f, g, a, b, re, im, floor, theta, p):
    least = sigmoid(floor)
    f = least + (1 - least) * sigmoid(f)
    c, s = f * cos(theta), f * sin(theta)
    re, im = c * re - s * im + (1 - f) * a, s * re + c * im + (1 - f) * b
    return (re * sigmoid(g)) @ p, re, im
