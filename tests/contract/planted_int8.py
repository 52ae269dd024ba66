"""A wrong row in int8: it forgets that rounded outputs have a zero point, as if 1 were added to all that come back."""

from implementations.pytorch import fused


def build(workload, weights, device, phase):
    forgotten = weights["lstm.0.recurrent"].sum(0)
    wrong = dict(weights, **{"lstm.0.bias": weights["lstm.0.bias"] + forgotten})
    return fused.build(workload, wrong, device, phase)
