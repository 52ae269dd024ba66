"""The cell's operators as the body of a `lax.scan`, a layer each; XLA compiles the step, and JAX differentiates the loop."""

from jax import lax
from jax import numpy as jnp

from .cells import lstm
from .model import Model, affine

DATA_TYPES = ("float32", "bfloat16")


def scanned(cell):
    """The LSTM stack as loops over depth, then time, around `cell`."""

    def lstm_stack(x, layers):
        """x [T, B, D] -> h [T, B, H] of the last layer, from zero states."""
        for w_input, w_recurrent, bias in layers:
            zeros = jnp.zeros((x.shape[1], w_recurrent.shape[0]), x.dtype)

            def step(state, from_input, w_recurrent=w_recurrent):
                h, c = cell(from_input, *state, w_recurrent)
                return (h, c), h

            x = lax.scan(step, (zeros, zeros), affine(x, w_input, bias))[1]
        return x

    return lstm_stack


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, scanned(lstm))
