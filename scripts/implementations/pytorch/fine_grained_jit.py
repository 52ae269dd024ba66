"""Fine-grained operators under TorchScript: layers, time loop and cell scripted as one function."""

import torch

from .fine_grained import lstm_cell, unrolled
from .model import LanguageModel


def build(workload, weights, device, phase):
    stack = torch.jit.script(unrolled(lstm_cell))
    return LanguageModel(workload, weights, device, phase, stack)
