"""Fine-grained operators under torch.compile: one step of a layer is one compiled graph.

TorchInductor fuses everything but the matrix product, forward and backward. The Python loop stays:
compiling the unrolled network takes minutes.
"""

import torch

from implementations.contract import Unsupported

from .fine_grained import lstm_cell, unrolled
from .model import Model


def build(workload, weights, device, phase):
    if not hasattr(torch, "compile"):
        raise Unsupported("PyTorch %s has no torch.compile (it came with 2.0)" % torch.__version__)
    stack = unrolled(torch.compile(lstm_cell, dynamic=False))
    return Model(workload, weights, device, phase, stack)
