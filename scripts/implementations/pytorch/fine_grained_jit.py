"""Fine-grained operators under TorchScript: layers, time loop and cell scripted as one function.

TorchScript 1.3 differentiates a scripted loop of primitive operators wrongly, without a word, where it
knows that the state before the loop needs no gradient, as of an argument
(tests/contract/planted_torchscript.py): it takes that for true of every step. This function makes its
state itself and is differentiated exactly, in two thirds of the time it takes inside
torch.jit.optimized_execution(False). A change to it must pass the check under 1.3 again.
"""

import torch

from .cells import STEPS
from .fine_grained import stack_of
from .model import Model


def build(workload, weights, device, phase):
    stack = stack_of(workload.cell, torch.jit.script)
    return Model(workload, weights, device, phase, stack, cells=STEPS)
