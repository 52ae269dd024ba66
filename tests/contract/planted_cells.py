"""Errors that are easily made in a cell, planted in PyTorch's: each is a style with one of them."""

import torch

from implementations.pytorch import cells, fine_grained
from measurement.cells import CELLS

STEPS = dict(cells.STEPS)


def planted(change):
    """A style whose step of the workload's cell is `change`d."""

    def build(workload, weights, device, phase):
        cells.STEPS[workload.cell] = change(STEPS[workload.cell], len(CELLS[workload.cell].gates))
        try:
            return fine_grained.build(workload, weights, device, phase)
        finally:
            cells.STEPS.update(STEPS)

    return build


def swap(step, gates):
    """Two gates have changed places."""

    def wrong(from_input, states, recurrent, own):
        order = [1, 0, *range(2, gates)]
        x, h = (
            torch.cat([w.chunk(gates, 1)[n] for n in order], 1) for w in (from_input, recurrent)
        )
        return step(x, states, h, own)

    return wrong


def without_stabiliser(step, gates):
    """Its state is scaled, as the memory is no more."""

    def wrong(from_input, states, recurrent, own):
        *others, m = step(from_input, states, recurrent, own)
        return [*others, torch.zeros_like(m)]

    return wrong


def reset_before_product(step, gates):
    def wrong(from_input, states, recurrent, own):
        (h,) = states
        r_x, z_x, n_x = from_input.chunk(3, 1)
        w_r, w_z, w_n = recurrent.chunk(3, 1)
        r, z = torch.sigmoid(r_x + h @ w_r), torch.sigmoid(z_x + h @ w_z)
        n = torch.tanh(n_x + (r * h) @ w_n + own[0])
        return [(1 - z) * n + z * h]

    return wrong


def old_memory(step, gates):
    """The output gate sees the memory as it was before the step."""

    def wrong(from_input, states, recurrent, own):
        h, c = states
        see_i, see_f, see_o = own
        i, f, g, o = torch.addmm(from_input, h, recurrent).chunk(4, 1)
        o = torch.sigmoid(o + see_o * c)
        c = torch.sigmoid(f + see_f * c) * c + torch.sigmoid(i + see_i * c) * torch.tanh(g)
        return [o * torch.tanh(c), c]

    return wrong


swapped_gates = planted(swap)
missing_stabiliser = planted(without_stabiliser)
reset_before = planted(reset_before_product)
peephole_too_early = planted(old_memory)
