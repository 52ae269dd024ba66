"""A wrong PyTorch style: its values are right, and one of its gradients is a thousandth too long."""

from implementations.pytorch.cell import lstm_stack
from implementations.pytorch.model import Model


def bent(x, layers):
    w_input, w_recurrent, bias = layers[0]
    longer = w_recurrent * 1.001 - (w_recurrent * 0.001).detach()
    return lstm_stack(x, [(w_input, longer, bias), *layers[1:]])


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, bent)
