"""Document 002's own way: all steps unrolled into one function, without a schedule."""

from kernels.variants.run_steps import UnrolledRunner

from .model import Kernel


def build(workload, weights, device, phase):
    return Kernel(workload, weights, UnrolledRunner)
