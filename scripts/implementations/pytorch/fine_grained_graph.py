"""Fine-grained operators in one CUDA graph a batch: the operators of `fine_grained`, launched at once."""

from .cells import STEPS
from .fine_grained import stack_of
from .graphs import Graphed, require_gpu


def build(workload, weights, device, phase):
    require_gpu(device)
    return Graphed(workload, weights, device, phase, stack_of(workload.cell), cells=STEPS)
