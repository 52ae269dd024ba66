"""The cell's operators as the body of a `lax.scan`, a layer each; XLA compiles the step, and JAX differentiates the loop."""

from jax import lax
from jax import numpy as jnp

from measurement.cells import CELLS, state_shapes

from .cells import STEPS, divided
from .model import Model, affine

DATA_TYPES = ("float32", "bfloat16")


def scanned(cell):
    """The stack as loops over depth, then time, around a cell by name."""
    step, kind = STEPS[cell], CELLS[cell]

    def stack(x, layers):
        """x [T, B, D] -> h [T, B, H] of the last layer, from what its states begin with."""
        for w_input, *others in layers:
            w_recurrent, bias, own = divided(kind, w_input, *others)
            shapes = state_shapes(kind, x.shape[1], w_recurrent.shape[0])
            begin = zip(shapes, kind.starts)
            states = [jnp.full(shape, start, x.dtype) for shape, start in begin]

            def body(states, from_input, w_recurrent=w_recurrent, own=own):
                states = step(from_input, states, w_recurrent, own)
                return states, states[0]

            x = lax.scan(body, states, affine(x, w_input, bias))[1]
        return x

    return stack


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, scanned(workload.cell))
