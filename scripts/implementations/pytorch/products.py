"""The model's matrix products in PyTorch, as `fine_grained` calls them: the input's at once, the state's step by step."""

import torch

from implementations.products import Products
from measurement.shapes import FORWARD, HOISTED, OF_INPUT

from .model import configure, inference


class MatrixProducts(Products):
    def __init__(self, workload, device, phase, form):
        self.device = configure(workload.threads, device)
        Products.__init__(self, workload, phase, form)

    def prepare(self):
        """Weights lie as PyTorch has them, [columns, depth]."""
        self.calls = []
        for product, (left, right) in zip(self.products, self.arrays):
            lefts = [torch.from_numpy(each).to(self.device) for each in left]
            if product.role in (FORWARD, OF_INPUT):
                stored = torch.from_numpy(right.T.copy()).to(self.device)
                rights = [stored.t() if product.role == FORWARD else stored] * len(lefts)
            else:
                lefts = [each.t() for each in lefts]
                rights = [torch.from_numpy(each).to(self.device) for each in right]
            self.calls.append(list(zip(lefts, rights)))

    def step(self, inputs, targets):
        last = []
        with inference():
            for calls in self.calls:
                for left, right in calls:
                    found = torch.mm(left, right)
                last.append(found)
        return last

    def fetch(self, handle):
        return [each.cpu().numpy() for each in handle]

    def synchronise(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def describe(self):
        return {
            "framework": "PyTorch",
            "framework_version": torch.__version__,
            "build": {"configuration": torch.__config__.show()},
            "settings": dict(self.settings(), threads=torch.get_num_threads()),
        }


def build(workload, weights, device, phase):
    return MatrixProducts(workload, device, phase, HOISTED)
