"""Fine-grained operators: Python loops over layers and steps; JAX dispatches each operator on its own, as it does without
`jax.jit`, and records them for the gradient."""

import jax
from jax import numpy as jnp

from .cells import lstm
from .model import Model, affine


def looped(cell):
    """The LSTM stack as Python loops over depth, then time, around `cell`."""

    def lstm_stack(x, layers):
        """x [T, B, D] -> h [T, B, H] of the last layer, from zero states."""
        for w_input, w_recurrent, bias in layers:
            h = c = jnp.zeros((x.shape[1], w_recurrent.shape[0]), x.dtype)
            outputs = []
            for from_input in jnp.unstack(affine(x, w_input, bias)):
                h, c = cell(from_input, h, c, w_recurrent)
                outputs.append(h)
            x = jnp.stack(outputs)  # [T, B, H]
        return x

    return lstm_stack


def build(workload, weights, device, phase):
    runner = Model(workload, weights, device, phase, looped(lstm), compiled=False)
    runner.updated = jax.jit(runner.updated, donate_argnums=0)  # as PyTorch's fused optimizers
    return runner
