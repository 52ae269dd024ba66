"""Another right style, so that an edit of one file has a cell it must not touch."""

from .model import Model


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase)
