"""nn.LSTM or nn.GRU through cuDNN: the whole network, all layers and steps, in one monolithic kernel call."""

import torch

from measurement.contract import Unsupported

from .fused import KERNELS, model


def build(workload, weights, device, phase):
    if device == "cpu":
        raise Unsupported("cuDNN runs on NVIDIA GPUs only")
    runner = model(workload, weights, device, phase)
    if not torch.backends.cudnn.is_acceptable(runner.layers[0][0]):
        # nn.LSTM would then silently run the kernels of fused.py
        raise Unsupported("PyTorch %s has no usable cuDNN for this GPU" % torch.__version__)
    runner.stack = KERNELS[workload.cell](workload, runner.layers, runner.training)
    return runner
