"""A wrong PyTorch style: every batch begins from a zero state, as if no batch had gone before it."""

from implementations.pytorch.cell import lstm_layer, lstm_stack
from implementations.pytorch.model import Model


class Forgetful(Model):
    def step(self, inputs, targets):
        self.reset()
        return super().step(inputs, targets)


def build(workload, weights, device, phase):
    return Forgetful(workload, weights, device, phase, lstm_stack, lstm_layer)
