"""Wrong PyTorch styles."""

import torch

from implementations.pytorch import fused
from implementations.pytorch.cell import lstm_layer, lstm_stack
from implementations.pytorch.model import Model
from tests.tiny import KEPT_STEPS


def gradient(*given):
    """Its values are right, and one of its gradients is a thousandth too long."""

    def bent(x, layers):
        w_input, w_recurrent, bias = layers[0]
        longer = w_recurrent * 1.001 - (w_recurrent * 0.001).detach()
        return lstm_stack(x, [(w_input, longer, bias), *layers[1:]])

    return Model(*given, bent)


def int8(workload, weights, device, phase):
    """It forgets that rounded outputs have a zero point, as if 1 were added to all that come back."""
    forgotten = weights["lstm.0.recurrent"].sum(0)
    wrong = dict(weights, **{"lstm.0.bias": weights["lstm.0.bias"] + forgotten})
    return fused.build(workload, wrong, device, phase)


def split(first_steps, between):
    """`build` of a style that splits a sequence at `first_steps(T)` and does `between` with h [B, H] or c there."""

    def stack(x, layers):
        for weights in layers:
            split = first_steps(x.size(0))
            zeros = torch.zeros(x.size(1), weights[1].size(1))
            before, h, c = lstm_layer(x[:split], zeros, zeros, *weights)
            after, _, _ = lstm_layer(x[split:], between(h), between(c), *weights)
            x = torch.cat([before, after])
        return x

    return lambda *given: Model(*given, stack)


truncated = split(lambda length: length - KEPT_STEPS, lambda state: state.detach())
skipped = split(lambda length: 1, torch.zeros_like)
reset = split(lambda length: length // 2, torch.zeros_like)
