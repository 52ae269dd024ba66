"""The model's matrix products in JAX, in calls of up to 32 steps each: an upper bound."""

from measurement.shapes import LARGE

from .products import MatrixProducts


def build(workload, weights, device, phase):
    return MatrixProducts(workload, device, phase, LARGE)
