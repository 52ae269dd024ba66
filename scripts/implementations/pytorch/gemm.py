"""A ceiling, not an LSTM: torch.mm with the floating-point operations of the workload's matrix products."""

import torch

from implementations.contract import Runner

from .model import configure, inference

STEPS = 32  # multiplied in one call at most: the rows of one call are B times this


class MatrixProducts(Runner):
    """Each layer's [B * T, D + H] x [D + H, 4H], a language model's projection [B * T, H] x [H, V] too, in
    calls of up to `STEPS` time steps."""

    def __init__(self, workload, device):
        self.device = configure(workload.threads, device)
        hidden = workload.hidden
        shapes = [
            ((hidden if layer else workload.features) + hidden, 4 * hidden)
            for layer in range(workload.layers)
        ]
        if workload.vocabulary:
            shapes.append((hidden, workload.vocabulary))
        self.calls = []
        for depth, width in shapes:
            weights = torch.rand(depth, width, device=self.device) - 0.5
            for first in range(0, workload.length, STEPS):
                rows = workload.batch * min(STEPS, workload.length - first)
                x = torch.rand(rows, depth, device=self.device) - 0.5
                self.calls.append((x, weights, torch.empty(rows, width, device=self.device)))

    def step(self, inputs, targets):
        with inference():
            for x, weights, out in self.calls:
                torch.mm(x, weights, out=out)

    def synchronise(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def expected(self, inputs):
        x, weights, _ = self.calls[-1]
        return torch.mm(x.double(), weights.double()).cpu().numpy()

    def results(self, handle):
        return {"output": self.calls[-1][2].cpu().numpy()}

    def describe(self):
        settings = {"threads": torch.get_num_threads()}
        return {
            "framework": "PyTorch",
            "framework_version": torch.__version__,
            "build": {},
            "settings": settings,
        }


def build(workload, weights, device, phase):
    return MatrixProducts(workload, device)
