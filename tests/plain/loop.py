"""A right style."""

from .model import Model


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase)
