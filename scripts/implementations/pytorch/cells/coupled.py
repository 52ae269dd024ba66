"""LSTM whose input gate is what the forget gate leaves."""

from typing import List

import torch
from torch import Tensor


def step(from_input: Tensor, states: List[Tensor], recurrent: Tensor, own: List[Tensor]):
    h, c = states
    f, g, o = torch.addmm(from_input, h, recurrent).chunk(3, 1)
    f, g = torch.sigmoid(f), torch.tanh(g)
    c = g + f * (c - g)
    return [torch.sigmoid(o) * torch.tanh(c), c]
