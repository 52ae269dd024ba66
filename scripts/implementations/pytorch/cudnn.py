"""nn.LSTM through cuDNN: the whole network, all layers and steps, in one monolithic kernel call."""

import torch

from implementations.contract import Unsupported

from .fused import whole_sequence
from .model import Model


def build(workload, weights, device, phase):
    if device == "cpu":
        raise Unsupported("cuDNN runs on NVIDIA GPUs only")
    runner = Model(workload, weights, device, phase)
    if not torch.backends.cudnn.is_acceptable(runner.layers[0][0]):
        # nn.LSTM would then silently run the kernels of fused.py
        raise Unsupported("PyTorch %s has no usable cuDNN for this GPU" % torch.__version__)
    runner.stack = whole_sequence(workload, runner.layers, runner.training)
    return runner
