"""Wrong PyTorch styles that do less than the whole of a sequence."""

import torch

from implementations.pytorch.cell import lstm_layer
from implementations.pytorch.model import Model
from tests.tiny import KEPT_STEPS


def style(first_steps, between):
    """`build` of a style that splits a sequence at `first_steps(T)` and does `between` with h [B, H] or c there."""

    def lstm_stack(x, layers):
        for weights in layers:
            split = first_steps(x.size(0))
            zeros = torch.zeros(x.size(1), weights[1].size(1))
            before, h, c = lstm_layer(x[:split], zeros, zeros, *weights)
            after, _, _ = lstm_layer(x[split:], between(h), between(c), *weights)
            x = torch.cat([before, after])
        return x

    return lambda *given: Model(*given, lstm_stack)


truncated = style(lambda length: length - KEPT_STEPS, lambda state: state.detach())
skipped = style(lambda length: 1, torch.zeros_like)
reset = style(lambda length: length // 2, torch.zeros_like)
