"""What the TVM implementations share: a kernel built by an earlier rule behind the contract."""

from pathlib import Path

from implementations.contract import Runner, Unsupported
from kernels.run import TemplateRunner, set_threads
from kernels.run_steps import StepsRunner, UnrolledRunner
from kernels.spec import Unsupported as KernelUnsupported
from measurement.workload import layer_weights

KINDS = {"template": TemplateRunner, "steps": StepsRunner, "unrolled": UnrolledRunner}


class Kernel(Runner):
    """Bare LSTM layers by one built kernel. inputs [T, B, D] -> h [T, B, H]."""

    def __init__(self, workload, weights, device, kind):
        if device == "gpu":
            raise Unsupported("the CUDA path compiles, but has no runner yet")
        set_threads(workload.threads)
        try:
            self.kernel = KINDS[kind](Path(workload.kernel), layer_weights(weights))
        except KernelUnsupported as reason:
            raise Unsupported(str(reason)) from None
        self.weights = weights

    def step(self, inputs, targets):
        self.kernel.set_input(inputs)
        self.kernel()

    def synchronise(self):
        """TVM's functions return when all their threads have finished."""

    def results(self, handle):
        return {"output": self.kernel.result().y}

    def parameters(self):
        return self.weights

    def describe(self):
        import tvm

        metadata = self.kernel.metadata
        return {
            "framework": "TVM",
            "framework_version": tvm.__version__,
            "build": {key: metadata[key] for key in ("target", "seconds")},
            "settings": {"threads": self.kernel.spec.threads},
        }
