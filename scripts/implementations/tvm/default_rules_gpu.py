"""MetaSchedule's own rules for CUDA on one step; all steps are one CUDA graph, which the host replays."""

from implementations.contract import Unsupported
from kernels.variants.run_graph import GraphRunner

from .dlight import GpuKernel


def build(workload, weights, device, phase):
    if device == "cpu":
        raise Unsupported("these schedules are for GPUs")
    return GpuKernel(workload, weights, GraphRunner)
