"""What the TVM implementations share: a kernel built by an earlier rule behind the contract."""

from pathlib import Path

import numpy as np

from kernels.runtime import set_threads
from measurement.contract import Runner, require_cell
from measurement.workload import layer_weights


def kernel_layers(workload, weights):
    """Layers of named weights as kernels take them: each vector of a cell on its own."""
    layers = layer_weights(weights)
    return [[*layer[:3], *np.reshape(layer[3:], (-1, workload.hidden))] for layer in layers]


class Built(Runner):
    """What all built kernels have in common."""

    def synchronise(self):
        """TVM's functions return when all their threads have finished."""

    def precision(self, inputs, targets):
        """Instructions of products in the library's machine code, by the format of what they multiply."""
        return self.kernel.metadata.get("products")

    def describe(self):
        import tvm

        metadata = self.kernel.metadata
        return {
            "framework": "TVM",
            "framework_version": tvm.__version__,
            "build": {key: metadata[key] for key in ("target", "seconds")},
            "settings": {"threads": self.kernel.spec.threads},
        }


class Kernel(Built):
    """Bare layers by one built kernel, which `runner` (of a folder and layers) runs. inputs [T, B, D] -> h [T, B, H]."""

    def __init__(self, workload, weights, runner, cells=("lstm",)):
        require_cell(workload, cells)
        set_threads(workload.threads)
        self.kernel = runner(Path(workload.kernel), kernel_layers(workload, weights))

    def step(self, inputs, targets):
        self.kernel.set_input(inputs)
        self.kernel()

    def results(self, handle):
        return {"output": self.kernel.result()}


class GpuKernel(Kernel):
    """The same on a GPU, where functions are queued."""

    def laid_out(self, inputs, targets):
        return self.kernel.pinned(inputs), targets

    def synchronise(self):
        self.kernel.synchronise()

    def describe(self):
        import tvm

        facts = super().describe()
        facts["build"]["cuda"] = tvm.cuda(0).api_version  # 12040: CUDA 12.4
        return facts
