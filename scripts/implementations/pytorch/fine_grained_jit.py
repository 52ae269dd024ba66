"""Fine-grained operators under TorchScript: layers, time loop and cell scripted as one function."""

import torch

from .fine_grained import lstm_stack
from .model import VERSION, LanguageModel


def build(workload, weights, device, phase):
    scripted = torch.jit.script(lstm_stack)

    def unoptimised(x, layers):
        with torch.jit.optimized_execution(False):
            return scripted(x, layers)

    # TorchScript 1.3 differentiates loops of primitive operators wrongly, and silently, unless its
    # optimiser is off.
    wrong_gradients = VERSION <= (1, 3) and phase == "training"
    stack = unoptimised if wrong_gradients else scripted
    return LanguageModel(workload, weights, device, phase, stack)
