"""Static cell under TorchScript: layers, time loop and calls of the cell scripted as one function."""

import torch

from .cell import lstm_stack
from .model import LanguageModel


def build(workload, weights, device, phase):
    return LanguageModel(workload, weights, device, phase, torch.jit.script(lstm_stack))
