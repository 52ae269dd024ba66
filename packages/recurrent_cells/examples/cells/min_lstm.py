"""Minimal LSTM that a scan computes, its gates normalised (minLSTM; Feng et al. 2024, arXiv:2410.01201)."""

from recurrent_cells import cell, sigmoid, where


@cell(gates="f i n", x_only="f i n", states="h")
def min_lstm(f, i, n, h):
    f, i = sigmoid(f), sigmoid(i)
    return (f * h + i * where(n >= 0, n + 0.5, sigmoid(n))) / (f + i)
