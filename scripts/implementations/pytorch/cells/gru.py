"""Gated recurrent unit, linear before reset."""

from typing import List

import torch
from torch import Tensor


def step(from_input: Tensor, states: List[Tensor], recurrent: Tensor, own: List[Tensor]):
    h = states[0]
    r_x, z_x, n_x = from_input.chunk(3, 1)
    r_h, z_h, n_h = torch.mm(h, recurrent).chunk(3, 1)
    r, z = torch.sigmoid(r_x + r_h), torch.sigmoid(z_x + z_h)
    n = torch.tanh(n_x + r * (n_h + own[0]))
    return [n + z * (h - n)]
