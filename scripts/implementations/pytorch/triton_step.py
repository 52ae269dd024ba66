"""One step of a layer as one kernel in Triton, forward and backward, in a Python loop over time.

The state's product with the weights of all four gates, the gates and the next state are one kernel; their gradients and
the product that leads to the state before are another. A weight's gradient is a product of its own a step. Products are
float32 throughout ("ieee"): Triton's default rounds to TF32.
"""

import torch

from measurement.contract import Unsupported

try:
    import triton
    from triton import language as tl
except ImportError:
    triton = None

from .fine_grained import unrolled
from .model import Model

ROWS, UNITS, DEPTH = (
    16,
    32,
    32,
)  # of a tile: sequences, hidden units, and what is multiplied at a time

if triton:

    @triton.jit
    def tanh(x):
        return 2 * tl.sigmoid(2 * x) - 1

    @triton.jit
    def forward_step(
        from_input, h, c, weight, new_h, new_c, gates, batch, hidden,
        ROWS: tl.constexpr, UNITS: tl.constexpr, DEPTH: tl.constexpr,
    ):  # fmt: skip
        """from_input and gates (activated, kept for the gradient) [B, 4H], states [B, H], weight [4H, H]."""
        rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
        units = (tl.program_id(1) * UNITS + tl.arange(0, UNITS))[None, :]
        real = (rows < batch) & (units < hidden)
        size = hidden * hidden
        i = tl.load(from_input + rows * 4 * hidden + units, mask=real, other=0.0)
        f = tl.load(from_input + rows * 4 * hidden + hidden + units, mask=real, other=0.0)
        g = tl.load(from_input + rows * 4 * hidden + 2 * hidden + units, mask=real, other=0.0)
        o = tl.load(from_input + rows * 4 * hidden + 3 * hidden + units, mask=real, other=0.0)
        for first in range(0, hidden, DEPTH):
            along = first + tl.arange(0, DEPTH)
            left_real = (rows < batch) & (along[None, :] < hidden)
            left = tl.load(h + rows * hidden + along[None, :], mask=left_real, other=0.0)
            at = weight + units * hidden + along[:, None]
            there = (along[:, None] < hidden) & (units < hidden)
            i = tl.dot(left, tl.load(at, mask=there, other=0.0), i, input_precision="ieee")
            f = tl.dot(left, tl.load(at + size, mask=there, other=0.0), f, input_precision="ieee")
            g = tl.dot(
                left, tl.load(at + 2 * size, mask=there, other=0.0), g, input_precision="ieee"
            )
            o = tl.dot(
                left, tl.load(at + 3 * size, mask=there, other=0.0), o, input_precision="ieee"
            )
        i, f, g, o = tl.sigmoid(i), tl.sigmoid(f), tanh(g), tl.sigmoid(o)
        state = f * tl.load(c + rows * hidden + units, mask=real, other=0.0) + i * g
        tl.store(new_c + rows * hidden + units, state, mask=real)
        tl.store(new_h + rows * hidden + units, o * tanh(state), mask=real)
        tl.store(gates + rows * 4 * hidden + units, i, mask=real)
        tl.store(gates + rows * 4 * hidden + hidden + units, f, mask=real)
        tl.store(gates + rows * 4 * hidden + 2 * hidden + units, g, mask=real)
        tl.store(gates + rows * 4 * hidden + 3 * hidden + units, o, mask=real)

    @triton.jit
    def backward_step(
        of_h, of_c, c, new_c, gates, weight, of_gates, of_old_h, of_old_c, batch, hidden,
        ROWS: tl.constexpr, UNITS: tl.constexpr, DEPTH: tl.constexpr,
    ):  # fmt: skip
        """Gradients of h and c before the step and of the gates before activation, from those after it.

        The gates' are what every tile multiplies: each computes them for its rows, and the first one keeps them.
        """
        rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
        units = (tl.program_id(1) * UNITS + tl.arange(0, UNITS))[None, :]
        real = (rows < batch) & (units < hidden)
        size = hidden * hidden
        found = tl.zeros((ROWS, UNITS), tl.float32)
        for first in range(0, hidden, DEPTH):
            along = first + tl.arange(0, DEPTH)
            there = (rows < batch) & (along[None, :] < hidden)
            at = rows * hidden + along[None, :]
            gate = gates + rows * 4 * hidden + along[None, :]
            i = tl.load(gate, mask=there, other=0.0)
            f = tl.load(gate + hidden, mask=there, other=0.0)
            g = tl.load(gate + 2 * hidden, mask=there, other=0.0)
            o = tl.load(gate + 3 * hidden, mask=there, other=0.0)
            t = tanh(tl.load(new_c + at, mask=there, other=0.0))
            dh = tl.load(of_h + at, mask=there, other=0.0)
            dc = tl.load(of_c + at, mask=there, other=0.0) + dh * o * (1 - t * t)
            di = dc * g * i * (1 - i)
            df = dc * tl.load(c + at, mask=there, other=0.0) * f * (1 - f)
            dg = dc * i * (1 - g * g)
            do = dh * t * o * (1 - o)
            keeps = there & (tl.program_id(1) + 0 * along[None, :] == 0)
            kept = of_gates + rows * 4 * hidden + along[None, :]
            tl.store(kept, di, mask=keeps)
            tl.store(kept + hidden, df, mask=keeps)
            tl.store(kept + 2 * hidden, dg, mask=keeps)
            tl.store(kept + 3 * hidden, do, mask=keeps)
            tl.store(of_old_c + at, dc * f, mask=keeps)
            by = weight + along[:, None] * hidden + units
            whole = (along[:, None] < hidden) & (units < hidden)
            found = tl.dot(di, tl.load(by, mask=whole, other=0.0), found, input_precision="ieee")
            found = tl.dot(
                df, tl.load(by + size, mask=whole, other=0.0), found, input_precision="ieee"
            )
            found = tl.dot(
                dg, tl.load(by + 2 * size, mask=whole, other=0.0), found, input_precision="ieee"
            )
            found = tl.dot(
                do, tl.load(by + 3 * size, mask=whole, other=0.0), found, input_precision="ieee"
            )
        tl.store(of_old_h + rows * hidden + units, found, mask=real)


class Step(torch.autograd.Function):
    """from_input [B, 4H], h and c [B, H], weight [4H, H] -> the next h and c."""

    @staticmethod
    def forward(ctx, from_input, h, c, weight):
        new_h, new_c, gates = torch.empty_like(h), torch.empty_like(c), torch.empty_like(from_input)
        batch, hidden = h.shape
        grid = (triton.cdiv(batch, ROWS), triton.cdiv(hidden, UNITS))
        forward_step[grid](
            from_input, h, c, weight, new_h, new_c, gates, batch, hidden, ROWS, UNITS, DEPTH
        )
        ctx.save_for_backward(h, c, weight, new_c, gates)
        return new_h, new_c

    @staticmethod
    def backward(ctx, of_h, of_c):
        h, c, weight, new_c, gates = ctx.saved_tensors
        of_h, of_c = of_h.contiguous(), of_c.contiguous()
        of_gates, of_old_h, of_old_c = map(torch.empty_like, (gates, h, c))
        batch, hidden = h.shape
        grid = (triton.cdiv(batch, ROWS), triton.cdiv(hidden, UNITS))
        backward_step[grid](
            of_h, of_c, c, new_c, gates, weight, of_gates, of_old_h, of_old_c, batch, hidden,
            ROWS, UNITS, DEPTH,
        )  # fmt: skip
        return of_gates, of_old_h, of_old_c, of_gates.t() @ h


def lstm_cell(from_input, h, c, recurrent):
    """As that of `fine_grained`; recurrent [H, 4H] is the transpose of what lies in memory."""
    return Step.apply(from_input, h, c, recurrent.t())


def require_triton(device):
    if device == "cpu":
        raise Unsupported("Triton compiles for GPUs only")
    if not triton:
        raise Unsupported("this build of PyTorch %s comes without Triton" % torch.__version__)


def build(workload, weights, device, phase):
    require_triton(device)
    return Model(workload, weights, device, phase, unrolled(lstm_cell))
