"""A wrong style: every gradient is right, but the optimizer forgets the first layer's bias."""

from .model import Model


class SkippedBias(Model):
    def kept(self, updated):
        updated["lstm.0.bias"] = self.parameters()["lstm.0.bias"]
        return updated


def build(workload, weights, device, phase):
    return SkippedBias(workload, weights, device, phase)
