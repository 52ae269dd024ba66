"""Fine-grained operators: Python loops over layers and steps; JAX dispatches each operator on its own, as it does without
`jax.jit`, and records them for the gradient."""

import jax
from jax import numpy as jnp

from measurement.cells import CELLS, state_shapes

from .cells import STEPS, divided
from .model import Model, affine

unstack = getattr(jnp, "unstack", tuple)  # JAX 0.4.13 has none


def looped(cell):
    """The stack as Python loops over depth, then time, around a cell by name."""
    step, kind = STEPS[cell], CELLS[cell]

    def stack(x, layers):
        """x [T, B, D] -> h [T, B, H] of the last layer, from what its states begin with."""
        for w_input, *others in layers:
            w_recurrent, bias, own = divided(kind, w_input, *others)
            shapes = state_shapes(kind, x.shape[1], w_recurrent.shape[0])
            begin = zip(shapes, kind.starts)
            states = [jnp.full(shape, start, x.dtype) for shape, start in begin]
            outputs = []
            for from_input in unstack(affine(x, w_input, bias)):
                states = step(from_input, states, w_recurrent, own)
                outputs.append(states[0])
            x = jnp.stack(outputs)  # [T, B, H]
        return x

    return stack


def build(workload, weights, device, phase):
    runner = Model(workload, weights, device, phase, looped(workload.cell), compiled=False)
    runner.updated = jax.jit(runner.updated, donate_argnums=0)  # as PyTorch's fused optimizers
    return runner
