"""LSTM, as `fine_grained` has it without lists."""

from typing import List

import torch
from torch import Tensor


def step(from_input: Tensor, states: List[Tensor], recurrent: Tensor, own: List[Tensor]):
    h, c = states
    i, f, g, o = torch.addmm(from_input, h, recurrent).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return [torch.sigmoid(o) * torch.tanh(c), c]
