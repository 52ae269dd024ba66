"""The model's matrix products by the OpenBLAS that NumPy's wheel brings, as PyTorch's row of operators calls them: what
whoever writes an LSTM without a framework has today."""

import ctypes
import glob
import os

import numpy as np

from implementations.contract import Unsupported
from implementations.products import Products
from measurement.shapes import HOISTED, OF_INPUT, OF_WEIGHT

LIBRARY = os.path.dirname(np.__file__) + ".libs/libscipy_openblas64_*"


class MatrixProducts(Products):
    def __init__(self, workload, device, phase, form):
        found = glob.glob(LIBRARY)
        if device == "gpu" or not found:
            raise Unsupported("it is about the OpenBLAS of NumPy's wheels for Linux, on a CPU")
        self.library = ctypes.CDLL(found[0])
        self.library.scipy_openblas_set_num_threads64_(workload.threads)
        self.threads = self.library.scipy_openblas_get_num_threads64_()
        Products.__init__(self, workload, phase, form)

    def prepare(self):
        """Transposed operands are views, of which BLAS makes no copy."""
        self.calls = []
        for product, (left, right) in zip(self.products, self.arrays):
            lefts = [each.T for each in left] if product.role == OF_WEIGHT else left
            shared = right.T if product.role == OF_INPUT else right
            rights = right if product.role == OF_WEIGHT else [shared] * len(lefts)
            self.calls.append(list(zip(lefts, rights)))

    def step(self, inputs, targets):
        last = []
        for calls in self.calls:
            for left, right in calls:
                found = left @ right
            last.append(found)
        return last

    def fetch(self, handle):
        return handle

    def describe(self):
        facts = {}
        for name in ("config", "corename"):
            function = getattr(self.library, "scipy_openblas_get_%s64_" % name)
            function.restype = ctypes.c_char_p
            facts[name] = function().decode().strip()
        return {
            "framework": "NumPy",
            "framework_version": np.__version__,
            "build": facts,
            "settings": dict(self.settings(), threads=self.threads),
        }


def build(workload, weights, device, phase):
    return MatrixProducts(workload, device, phase, HOISTED)
