"""Units open by turns, as the sine of an own phase says (after phased LSTM; Neil, Pfeiffer & Liu 2016, arXiv:1610.09513)."""

from recurrent_cells import cell, sigmoid, sin, tanh, where


@cell(gates="z n", states="h t", vectors="rate shift")
def rhythmic(z, n, h, t, rate, shift, alpha=0.01):
    wave, z = sin(rate * t + shift), sigmoid(z)
    opened = where(wave > 0, wave, alpha * wave)
    return h + opened * z * (tanh(n) - h), t + 1
