"""LSTM whose gates see the memory."""

from typing import List

import torch
from torch import Tensor


def step(from_input: Tensor, states: List[Tensor], recurrent: Tensor, own: List[Tensor]):
    h, c = states
    see_i, see_f, see_o = own
    i, f, g, o = torch.addmm(from_input, h, recurrent).chunk(4, 1)
    i, f = torch.sigmoid(i + see_i * c), torch.sigmoid(f + see_f * c)
    c = f * c + i * torch.tanh(g)
    return [torch.sigmoid(o + see_o * c) * torch.tanh(c), c]
