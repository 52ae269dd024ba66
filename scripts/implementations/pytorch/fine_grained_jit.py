"""Fine-grained operators under TorchScript: layers, time loop and cell scripted as one function.

TorchScript 1.3 has been seen to differentiate scripted loops of primitive operators wrongly, without
a word, unless inside torch.jit.optimized_execution(False). This function it differentiates exactly
(every batch of the check, and at the timed shape against eager mode), in two thirds of the time it
takes with the optimiser off. A change to `lstm_stack` must pass the check under 1.3 again.
"""

import torch

from .fine_grained import lstm_cell, unrolled
from .model import LanguageModel


def build(workload, weights, device, phase):
    stack = torch.jit.script(unrolled(lstm_cell))
    return LanguageModel(workload, weights, device, phase, stack)
