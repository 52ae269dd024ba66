"""Static cell under TorchScript: layers, time loop and calls of the cell scripted as one function."""

import torch

from .cell import lstm_stack
from .model import Model


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, torch.jit.script(lstm_stack))
