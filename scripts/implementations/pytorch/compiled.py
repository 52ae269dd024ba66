"""Fine-grained operators under torch.compile: some steps of a layer are one compiled graph, projection and loss another.

TorchInductor fuses everything but the matrix products, forward and backward; nothing over the logits is left to eager
operators. The Python loop over groups of steps stays: compiling the unrolled network takes minutes.
"""

import torch

from measurement.cells import CELLS, state_shapes
from measurement.contract import Unsupported

from .cells import STEPS
from .fine_grained import divided
from .model import Model

LENGTH = 5  # steps of a layer in one graph


def some_steps(step):
    """Steps of a cell (see cells) in a row."""

    def steps(from_input, states, recurrent, own):
        """from_input [B, gates * H] of each step, states [B, H] -> h of each step, the last states."""
        outputs = []
        for from_input_t in from_input:
            states = step(from_input_t, states, recurrent, own)
            outputs.append(states[0])
        return outputs, states

    return steps


def grouped(steps, kind):
    """The stack as loops over depth, then groups of steps, around `steps` of a cell (measurement.cells)."""

    def stack(x, layers):
        """x [T, B, E] -> h [T, B, H] of the last layer."""
        for layer in layers:
            w_input, w_recurrent, bias, *others = divided(kind, *layer)
            vectors = [each for each in others if each.dim() == 1]
            length, batch, depth = x.size()
            gates, hidden = w_input.size(0), w_recurrent.size(1)
            rows = x.reshape(length * batch, depth)
            from_input = torch.addmm(bias[:gates], rows, w_input.t())
            from_input = from_input.view(length, batch, -1).unbind(0)
            own = list(torch.cat([bias[gates:], *vectors]).view(-1, hidden).unbind(0))
            own += [each.t() for each in others if each.dim() == 2]
            recurrent, outputs = w_recurrent.t(), []  # [H, gates * H]
            shapes = state_shapes(kind, batch, hidden)
            state = [x.new_full(shape, start) for shape, start in zip(shapes, kind.starts)]
            for first in range(0, length, LENGTH):
                found, state = steps(
                    list(from_input[first : first + LENGTH]), state, recurrent, own
                )
                outputs += found
            x = torch.stack(outputs)  # [T, B, H]
        return x

    return stack


class Compiled(Model):
    """mode: torch.compile's."""

    def __init__(self, workload, weights, device, phase, mode=None):
        torch._dynamo.reset()  # graphs of models before this one in the process count as recompilations
        steps = torch.compile(some_steps(STEPS[workload.cell]), dynamic=False, mode=mode)
        stack = grouped(steps, CELLS[workload.cell])
        super().__init__(workload, weights, device, phase, stack, cells=STEPS)
        self.project = torch.compile(super().project, dynamic=False, mode=mode)
        self.objective_of = torch.compile(super().objective_of, dynamic=False, mode=mode)


def build(workload, weights, device, phase):
    if not hasattr(torch, "compile"):
        raise Unsupported("PyTorch %s has no torch.compile (it came with 2.0)" % torch.__version__)
    return Compiled(workload, weights, device, phase)
