"""The same functions as default-rules without any schedule: what LLVM makes of plain loops."""

from kernels.variants.run_steps import StepsRunner

from .model import Kernel


def build(workload, weights, device, phase):
    return Kernel(workload, weights, StepsRunner)
