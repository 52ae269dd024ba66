"""torch.compile's own CUDA graphs, `mode="reduce-overhead"`: the graphs of `compiled`, each replayed by one launch."""

import torch

from measurement.contract import Unsupported

from .compiled import Compiled
from .graphs import require_gpu


class Replayed(Compiled):
    """Its tensors live until the next step begins, which has to be said."""

    def step(self, inputs, targets):
        torch.compiler.cudagraph_mark_step_begin()
        return super().step(inputs, targets)


def build(workload, weights, device, phase):
    require_gpu(device)
    if not hasattr(torch, "compile"):
        raise Unsupported("PyTorch %s has no torch.compile (it came with 2.0)" % torch.__version__)
    return Replayed(workload, weights, device, phase, mode="reduce-overhead")
