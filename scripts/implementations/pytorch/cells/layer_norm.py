"""LSTM with layer normalisation of its gates and of its memory."""

from typing import List

import torch
import torch.nn.functional as F
from torch import Tensor


def step(from_input: Tensor, states: List[Tensor], recurrent: Tensor, own: List[Tensor]):
    h, c = states
    a_i, b_i, a_f, b_f, a_g, b_g, a_o, b_o, a_c, b_c = own
    i, f, g, o = torch.addmm(from_input, h, recurrent).chunk(4, 1)
    units = [h.size(1)]
    i = torch.sigmoid(F.layer_norm(i, units, a_i, b_i))
    f = torch.sigmoid(F.layer_norm(f, units, a_f, b_f))
    g = torch.tanh(F.layer_norm(g, units, a_g, b_g))
    o = torch.sigmoid(F.layer_norm(o, units, a_o, b_o))
    c = f * c + i * g
    return [o * torch.tanh(F.layer_norm(c, units, a_c, b_c)), c]
