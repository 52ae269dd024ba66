"""Static cell: the operator behind nn.LSTMCell or nn.GRUCell, one call a step, in a Python loop over time.

On a GPU the operator is two matrix products and one fused kernel, on a CPU C++ code calling
fine-grained operators. It takes a step's input as it is, so the input projection cannot be hoisted.
"""

from typing import List, Tuple

import torch
from torch import Tensor

from measurement.contract import require_cell

from .model import Model


def lstm_layer(
    x: Tensor, h: Tensor, c: Tensor, w_input: Tensor, w_recurrent: Tensor, bias: Tensor
) -> Tuple[Tensor, Tensor, Tensor]:
    """One layer from a state. x [T, B, D], h and c [B, H] -> h of all steps [T, B, H], the last h and c."""
    no_bias = torch.zeros_like(bias)  # the cell has two biases and the model one
    outputs = []
    # unbind, for the gradient of indexing at every step would be as long as the sequence
    for x_t in x.unbind(0):  # [B, D]
        h, c = torch.lstm_cell(x_t, [h, c], w_input, w_recurrent, bias, no_bias)
        outputs.append(h)
    return torch.stack(outputs), h, c


def lstm_stack(x: Tensor, layers: List[Tuple[Tensor, Tensor, Tensor]]) -> Tensor:
    """x [T, B, E] -> h [T, B, H] of the last layer, from zero states."""
    for w_input, w_recurrent, bias in layers:
        zeros = torch.zeros(x.size(1), w_recurrent.size(1), dtype=x.dtype, device=x.device)
        x, _, _ = lstm_layer(x, zeros, zeros, w_input, w_recurrent, bias)
    return x


def gru_biases(bias: Tensor) -> Tuple[Tensor, Tensor]:
    """The bias r, z, n.x, n.h [4H] as PyTorch's two [3H]: r and z have one in the model."""
    hidden = bias.size(0) // 4
    return bias[: 3 * hidden], torch.cat([torch.zeros_like(bias[: 2 * hidden]), bias[3 * hidden :]])


def gru_stack(x: Tensor, layers: List[Tuple[Tensor, Tensor, Tensor]]) -> Tensor:
    """x [T, B, E] -> h [T, B, H] of the last layer, from zero states."""
    for w_input, w_recurrent, bias in layers:
        h = torch.zeros(x.size(1), w_recurrent.size(1), dtype=x.dtype, device=x.device)
        of_input, of_state = gru_biases(bias)
        outputs = []
        for x_t in x.unbind(0):
            h = torch.gru_cell(x_t, h, w_input, w_recurrent, of_input, of_state)
            outputs.append(h)
        x = torch.stack(outputs)
    return x


STACKS = {"lstm": lstm_stack, "gru": gru_stack}


def model(workload, weights, device, phase, compiled=lambda stack: stack):
    """The model around the cell's loops; compiled: what is done with them."""
    require_cell(workload, STACKS, "PyTorch's own cells are nn.LSTMCell and nn.GRUCell")
    stack = compiled(STACKS[workload.cell])
    layer = lstm_layer if workload.cell == "lstm" else None
    return Model(workload, weights, device, phase, stack, layer, STACKS)


def build(workload, weights, device, phase):
    return model(workload, weights, device, phase)
