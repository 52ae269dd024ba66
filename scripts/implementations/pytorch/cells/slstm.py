"""LSTM with exponential gates, a normaliser and a stabiliser."""

from typing import List

import torch
from torch import Tensor


def step(from_input: Tensor, states: List[Tensor], recurrent: Tensor, own: List[Tensor]):
    h, c, n, m = states
    i, f, z, o = torch.addmm(from_input, h, recurrent).chunk(4, 1)
    f = f + m
    m = torch.max(f, i)
    i, f = torch.exp(i - m), torch.exp(f - m)
    c = f * c + i * torch.tanh(z)
    n = f * n + i
    return [torch.sigmoid(o) * c / n, c, n, m]
