"""Fine-grained operators under torch.compile: one step of a layer is one compiled graph.

TorchInductor fuses everything but the matrix product, forward and backward. The Python loop stays:
compiling the unrolled network takes minutes.
"""

from implementations.contract import Unsupported

from .model import VERSION


def build(workload, weights, device, phase):
    if VERSION < (2, 0):
        raise Unsupported("torch.compile came with PyTorch 2.0")
    raise Unsupported("not yet written")
