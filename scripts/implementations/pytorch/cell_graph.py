"""Static cell in one CUDA graph a batch: the calls of `cell`, launched at once."""

from .cell import lstm_layer, lstm_stack
from .graphs import Graphed, require_gpu


def build(workload, weights, device, phase):
    require_gpu(device)
    return Graphed(workload, weights, device, phase, lstm_stack, lstm_layer)
