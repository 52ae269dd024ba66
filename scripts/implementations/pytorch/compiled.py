"""Fine-grained operators under torch.compile: some steps of a layer are one compiled graph, projection and loss another.

TorchInductor fuses everything but the matrix products, forward and backward; nothing over the logits is left to eager
operators. The Python loop over groups of steps stays: compiling the unrolled network takes minutes.
"""

from typing import List

import torch
from torch import Tensor

from implementations.contract import Unsupported

from .fine_grained import lstm_cell
from .model import Model

STEPS = 5  # of a layer in one graph


def some_steps(from_input: List[Tensor], h: Tensor, c: Tensor, recurrent: Tensor):
    """from_input [B, 4H] of each step, h and c [B, H] -> h of each step, the last h and c."""
    outputs = []
    for from_input_t in from_input:
        h, c = lstm_cell(from_input_t, h, c, recurrent)
        outputs.append(h)
    return outputs, h, c


def grouped(steps):
    """The LSTM stack as loops over depth, then groups of steps, around `steps`."""

    def lstm_stack(x, layers):
        """x [T, B, E] -> h [T, B, H] of the last layer, from zero states."""
        for w_input, w_recurrent, bias in layers:
            length, batch, depth = x.size()
            from_input = torch.addmm(bias, x.reshape(length * batch, depth), w_input.t())
            from_input = from_input.view(length, batch, -1).unbind(0)
            recurrent = w_recurrent.t()  # [H, 4H]
            h = x.new_zeros(batch, w_recurrent.size(1))
            c, outputs = torch.zeros_like(h), []
            for first in range(0, length, STEPS):
                found, h, c = steps(list(from_input[first : first + STEPS]), h, c, recurrent)
                outputs += found
            x = torch.stack(outputs)  # [T, B, H]
        return x

    return lstm_stack


class Compiled(Model):
    """mode: torch.compile's."""

    def __init__(self, workload, weights, device, phase, mode=None):
        stack = grouped(torch.compile(some_steps, dynamic=False, mode=mode))
        super().__init__(workload, weights, device, phase, stack)
        self.project = torch.compile(super().project, dynamic=False, mode=mode)
        self.objective_of = torch.compile(super().objective_of, dynamic=False, mode=mode)


def build(workload, weights, device, phase):
    if not hasattr(torch, "compile"):
        raise Unsupported("PyTorch %s has no torch.compile (it came with 2.0)" % torch.__version__)
    return Compiled(workload, weights, device, phase)
