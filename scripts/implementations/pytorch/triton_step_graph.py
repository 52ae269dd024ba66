"""Triton's step in one CUDA graph a batch: the kernels of `triton_step`, launched at once."""

from .fine_grained import unrolled
from .graphs import Graphed, require_gpu
from .triton_step import lstm_cell, require_triton


def build(workload, weights, device, phase):
    require_gpu(device)
    require_triton(device)
    return Graphed(workload, weights, device, phase, unrolled(lstm_cell))
