"""A wrong PyTorch style, not of our making: a scripted loop over time whose initial state is an argument.

As it needs no gradient, TorchScript 1.3 takes that for true of the state of all later steps and leaves
out what flows through them (https://github.com/pytorch/pytorch/issues/32385). Its values are right, so
forward passes; so do later versions.
"""

import torch
from torch import Tensor

from implementations.pytorch.model import Model


@torch.jit.script
def layer(x: Tensor, h: Tensor, c: Tensor, w_input: Tensor, w_recurrent: Tensor, bias: Tensor):
    outputs = []
    for t in range(x.size(0)):
        gates = torch.mm(x[t], w_input.t()) + torch.mm(h, w_recurrent.t()) + bias
        i, f, g, o = gates.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        outputs.append(h)
    return torch.stack(outputs)


def lstm_stack(x, layers):
    for w_input, w_recurrent, bias in layers:
        zeros = torch.zeros(x.size(1), w_recurrent.size(1))
        x = layer(x, zeros, zeros, w_input, w_recurrent, bias)
    return x


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, lstm_stack)
