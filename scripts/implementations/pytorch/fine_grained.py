"""Fine-grained operators: a Python loop of matrix products, sigmoids, tanhs, products and sums.

The four gates are one matrix product a step. The inputs' share of it is hoisted out of the time
loop into one product for the whole sequence: no gain on a CPU (within 1 %), but fewer operators to
launch. One sigmoid for several gates, addcmul and canonical layouts made no difference either.
"""

from typing import List, Tuple

import torch
from torch import Tensor

from measurement.cells import CELLS

from .cells import STEPS
from .model import Model

DATA_TYPES = ("float32", "bfloat16")  # by autocast


def lstm_cell(from_input: Tensor, h: Tensor, c: Tensor, recurrent: Tensor) -> Tuple[Tensor, Tensor]:
    """from_input [B, 4H], h and c [B, H], recurrent [H, 4H] -> the next h and c."""
    i, f, g, o = torch.addmm(from_input, h, recurrent).chunk(4, 1)  # [B, H] each
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def unrolled(cell):
    """The LSTM stack as loops over depth, then time, around `cell`."""

    def lstm_stack(x: Tensor, layers: List[Tuple[Tensor, Tensor, Tensor]]) -> Tensor:
        """x [T, B, E] -> h [T, B, H] of the last layer, from zero states."""
        for w_input, w_recurrent, bias in layers:
            length, batch, depth = x.size(0), x.size(1), x.size(2)
            from_input = torch.addmm(bias, x.reshape(length * batch, depth), w_input.t())
            recurrent = w_recurrent.t()  # [H, 4H]
            h = torch.zeros(batch, w_recurrent.size(1), dtype=x.dtype, device=x.device)  # [B, H]
            c = torch.zeros_like(h)
            outputs = []
            # unbind, for the gradient of indexing at every step would be as long as the sequence
            for from_input_t in from_input.view(length, batch, -1).unbind(0):
                h, c = cell(from_input_t, h, c, recurrent)
                outputs.append(h)
            x = torch.stack(outputs)  # [T, B, H]
        return x

    return lstm_stack


def unrolled_steps(step):
    """The same loops around any cell's `step` (see cells)."""

    def stack(
        x: Tensor, layers: List[List[Tensor]], starts: List[float], squares: List[int]
    ) -> Tensor:
        """x [T, B, E], weights (see model), what the states begin with, and of a matrix per head how many -> h [T, B, H] of the
        last layer."""
        for weights in layers:
            w_input, w_recurrent, bias = weights[0], weights[1], weights[2]
            length, batch, depth = x.size(0), x.size(1), x.size(2)
            gates, hidden = w_input.size(0), w_recurrent.size(1)
            from_input = torch.addmm(bias[:gates], x.reshape(length * batch, depth), w_input.t())
            flat, own, matrices = [bias[gates:]], [], []
            for each in weights[3:]:
                if each.dim() == 1:
                    flat.append(each)
                else:
                    matrices.append(each.t())
            for each in torch.cat(flat).view(-1, hidden).unbind(0):
                own.append(each)
            own = own + matrices
            zeros = torch.zeros(batch, hidden, dtype=x.dtype, device=x.device)
            state = []
            for number in range(len(starts)):
                begin = zeros + starts[number]
                if squares[number]:
                    begin = begin.unsqueeze(2).repeat(1, 1, hidden // squares[number])
                state.append(begin)
            outputs = []
            for from_input_t in from_input.view(length, batch, -1).unbind(0):
                state = step(from_input_t, state, w_recurrent.t(), own)
                outputs.append(state[0])
            x = torch.stack(outputs)  # [T, B, H]
        return x

    return stack


def divided(kind, w_input, w_recurrent, *others):
    """A layer's weights, its matrices apart, after its vectors."""
    size = w_recurrent.size(1) // kind.heads
    sizes = [len(kind.of_h) * size] + [size] * len(kind.matrices)
    recurrent, *matrices = w_recurrent.split(sizes)
    return [w_input, recurrent, *others, *matrices]


def stack_of(cell, compiled=lambda stack: stack):
    """The stack of a cell by name; compiled: what is done with the loops."""
    if cell == "lstm":
        return compiled(unrolled(lstm_cell))
    stack, kind = compiled(unrolled_steps(STEPS[cell])), CELLS[cell]
    starts = list(kind.starts)
    squares = [kind.heads if name in kind.squares else 0 for name in kind.states]
    return lambda x, layers: stack(x, [divided(kind, *each) for each in layers], starts, squares)


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, stack_of(workload.cell), cells=STEPS)
