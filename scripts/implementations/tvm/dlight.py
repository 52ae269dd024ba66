"""GPU kernels of one step by dlight's ready-made schedules, without tuning; the host launches four a step."""

from kernels.variants.run_gpu import SplitStepsRunner
from measurement.contract import Unsupported

from .model import GpuKernel


def build(workload, weights, device, phase):
    if device == "cpu":
        raise Unsupported("dlight's schedules are for GPUs")
    return GpuKernel(workload, weights, SplitStepsRunner)
