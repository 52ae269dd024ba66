"""`jax/scan`'s forward pass exported as StableHLO and compiled ahead of time by IREE, for inference on a CPU.

The compiled module holds the weights; IREE's runtime, which needs neither JAX nor Python, runs it.
"""

from importlib import metadata

import iree.compiler
import iree.runtime
import jax
import numpy as np

from implementations.jax import model
from implementations.jax.scan import scanned
from measurement import instructions
from measurement.contract import Runner, Unsupported

# Data tiling and microkernels are not on by default; without them the stacked model took ten times as long.
OPTIONS = [
    "--iree-opt-level=O3",
    "--iree-opt-data-tiling",
    "--iree-llvmcpu-enable-ukernels=all",
]


class Module(Runner):
    def __init__(self, workload, weights):
        traced = model.Model(workload, weights, "cpu", "forward", scanned(workload.cell))
        inputs = next(workload.batches())[0]
        inputs = inputs.astype(np.int32) if workload.vocabulary else inputs
        cpu = instructions.LLVM.get(workload.isa, "host")
        self.options = OPTIONS + ["--iree-llvmcpu-target-cpu=" + cpu]
        lowered = jax.jit(lambda inputs: traced.output(traced.weights, inputs)).lower(inputs)
        binary = iree.compiler.compile_str(
            str(lowered.compiler_ir("stablehlo")),
            input_type="stablehlo",
            target_backends=["llvm-cpu"],
            extra_args=self.options,
        )
        self.threads = workload.threads
        iree.runtime.flags.parse_flags("--task_topology_group_count=%d" % self.threads)
        self.main = iree.runtime.load_vm_flatbuffer(binary, driver="local-task")["main"]

    def laid_out(self, inputs, targets):
        """Tokens in 32 bits, as JAX has them."""
        return (inputs.astype(np.int32) if inputs.dtype == np.int64 else inputs), targets

    def step(self, inputs, targets):
        return self.main(inputs)

    def synchronise(self):
        """A module's call returns when it has finished."""

    def results(self, handle):
        return {"output": handle.to_host()}

    def describe(self):
        return {
            "framework": "IREE",
            "framework_version": metadata.version("iree-base-runtime"),
            "build": {"jax": jax.__version__, "options": self.options},
            "settings": {"threads": self.threads},
        }


def build(workload, weights, device, phase):
    if phase == "training" or device != "cpu":
        raise Unsupported("its module is for inference, and compiled for a CPU")
    return Module(workload, weights)
