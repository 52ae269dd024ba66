"""Static cell under TorchScript: layers, time loop and calls of the cell scripted as one function."""

import torch

from .cell import model


def build(workload, weights, device, phase):
    return model(workload, weights, device, phase, torch.jit.script)
