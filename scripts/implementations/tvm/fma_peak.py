"""A ceiling, not an LSTM: as many multiply-adds as the workload's matrix products, on registers alone."""

import numpy as np

from kernels.fma_peak import FmaPeak
from kernels.runtime import set_threads
from kernels.target import cpu_target
from measurement import instructions
from measurement.contract import Runner, Unsupported
from measurement.shapes import HOISTED, flops, products


class Peak(Runner):
    def __init__(self, workload, device, phase):
        if device == "gpu":
            raise Unsupported("the register loop is written for CPUs")
        set_threads(workload.threads)
        operations = flops(products(workload, phase, HOISTED))
        self.peak = FmaPeak(
            cpu_target(workload.threads, instructions.visible(workload.isa)),
            workload.threads,
            operations,
        )

    def step(self, inputs, targets):
        self.peak()

    def synchronise(self):
        """TVM's functions return when all their threads have finished."""

    def expected(self, inputs):
        return np.ones(2)

    def results(self, handle):
        return {"output": self.peak.result()}

    def describe(self):
        import tvm

        return {
            "framework": "TVM",
            "framework_version": tvm.__version__,
            "build": {},
            "settings": {},
        }


def build(workload, weights, device, phase):
    return Peak(workload, device, phase)
