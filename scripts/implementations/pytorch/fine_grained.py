"""Fine-grained operators: a Python loop of matrix products, sigmoids, tanhs, products and sums.

The four gates are one matrix product a step. The inputs' share of it is hoisted out of the time
loop into one product for the whole sequence.
"""

from typing import List, Tuple

import torch
from torch import Tensor

from .model import LanguageModel


def lstm_stack(x: Tensor, layers: List[Tuple[Tensor, Tensor, Tensor]]) -> Tensor:
    """x [T, B, E] -> h [T, B, H] of the last layer, from zero states."""
    for w_input, w_recurrent, bias in layers:
        length, batch, depth = x.size(0), x.size(1), x.size(2)
        h = torch.zeros(batch, w_recurrent.size(1), dtype=x.dtype, device=x.device)  # [B, H]
        c = torch.zeros_like(h)
        from_input = torch.addmm(bias, x.reshape(length * batch, depth), w_input.t())
        recurrent = w_recurrent.t()  # [H, 4H]
        outputs = []
        # unbind, for the gradient of indexing at every step would be as long as the sequence
        for gates_t in from_input.view(length, batch, -1).unbind(0):  # [B, 4H]
            i, f, g, o = torch.addmm(gates_t, h, recurrent).chunk(4, 1)  # [B, H] each
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        x = torch.stack(outputs)  # [T, B, H]
    return x


def build(workload, weights, device, phase):
    return LanguageModel(workload, weights, device, phase, lstm_stack)
