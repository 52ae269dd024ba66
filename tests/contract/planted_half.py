"""A wrong row in half precision: what a layer gives is too long, by a little more than the format explains."""

from implementations.pytorch.fine_grained import lstm_cell, unrolled
from implementations.pytorch.model import Model
from measurement import precision


def build(workload, weights, device, phase):
    allowed = precision.tolerance(workload.data_type, phase, workload.layers, workload.length)
    stack = unrolled(lstm_cell)

    class Longer(Model):
        def project(self, h):
            return super().project(h) * (1 + 1.2 * allowed)

    return Longer(workload, weights, device, phase, stack)
