"""GPU kernels of one step by dlight's ready-made schedules, without tuning; the host launches four a step."""

from implementations.contract import Unsupported
from kernels.variants.run_steps import SplitStepsRunner

from .model import Kernel


class GpuKernel(Kernel):
    """Bare LSTM layers by functions that the host launches. inputs [T, B, D] -> h [T, B, H]."""

    def synchronise(self):
        self.kernel.synchronise()

    def describe(self):
        import tvm

        facts = super().describe()
        facts["build"]["cuda"] = tvm.cuda(0).api_version  # 12040: CUDA 12.4
        return facts


def build(workload, weights, device, phase):
    if device == "cpu":
        raise Unsupported("dlight's schedules are for GPUs")
    return GpuKernel(workload, weights, SplitStepsRunner)
