"""The cell of operators, unrolled and exported by torch.export, compiled ahead of time by AOTInductor: for inference.

What is timed is the package that a program without Python would load: a shared library with the weights in it.
"""

import hashlib
import os
import tempfile

import numpy as np
import torch

from measurement.contract import Unsupported

from .cells import STEPS
from .fine_grained import stack_of
from .model import Model


def package_path(workload, weights):
    """Where the package of a network lies: in the compiler's cache, which most processes find empty (measurement/compiler_caches.py).
    Its weights are part of it."""
    about = hashlib.sha256(repr((workload.cell, workload.batch, workload.length)).encode())
    for name in sorted(weights):
        about.update(np.ascontiguousarray(weights[name]).tobytes())
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, "network-%s.pt2" % about.hexdigest()[:16])


class Network(torch.nn.Module):
    """The model as a module, which is what torch.export takes."""

    def __init__(self, model):
        super().__init__()
        self.output = model.output
        self.weights = torch.nn.ParameterList(model.weights.values())

    def forward(self, inputs):
        return self.output(inputs)


class Exported(Model):
    def __init__(self, workload, weights, device, phase):
        super().__init__(workload, weights, device, phase, stack_of(workload.cell), cells=STEPS)
        inputs, _ = next(workload.batches())
        path = package_path(workload, weights)
        if not os.path.exists(path):
            with torch.no_grad():
                program = torch.export.export(Network(self), (self.feed(inputs),))
                torch._inductor.aoti_compile_and_package(program, package_path=path)
        self.package = torch._inductor.aoti_load_package(path)

    def output(self, inputs):
        return self.package(inputs) if hasattr(self, "package") else super().output(inputs)


def build(workload, weights, device, phase):
    if phase == "training":
        raise Unsupported("AOTInductor's packages are for inference")
    if not hasattr(getattr(torch, "_inductor", None), "aoti_compile_and_package"):
        raise Unsupported("PyTorch %s has no packages by AOTInductor" % torch.__version__)
    return Exported(workload, weights, device, phase)
