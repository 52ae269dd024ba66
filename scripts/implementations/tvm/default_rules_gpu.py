"""MetaSchedule's own rules for CUDA on the functions of one step; all steps are one CUDA graph, which one launch replays."""

from kernels.variants.run_gpu import GraphRunner
from measurement.contract import Unsupported

from .model import GpuKernel


def build(workload, weights, device, phase):
    if device == "cpu":
        raise Unsupported("these schedules are for GPUs")
    return GpuKernel(workload, weights, GraphRunner)
