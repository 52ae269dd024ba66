"""The model's matrix products in JAX, as Keras's layer calls them there: the input's and the state's in two products a
step, the steps in a `lax.scan`. Each scan waits for the one before, as layers do."""

import functools

import jax
from jax import lax
from jax import numpy as jnp

from implementations.products import Products
from measurement.shapes import OF_INPUT, OF_WEIGHT, SEPARATE

from .model import configure


def _multiply(left, right, role):
    if role == OF_WEIGHT:
        return left.T @ right
    return left @ (right.T if role == OF_INPUT else right)


def _last(left, right, role):
    """The last product of a loop that computes them all: left [times, ...], and right too where it is no weight."""
    several = role == OF_WEIGHT

    def step(_, operands):
        return _multiply(*(operands if several else (operands, right)), role), None

    columns = right.shape[-2] if role == OF_INPUT else right.shape[-1]
    nothing = jnp.zeros((left.shape[-1 if several else -2], columns))
    return lax.scan(step, nothing, (left, right) if several else left)[0]


class MatrixProducts(Products):
    def __init__(self, workload, device, phase, form):
        self.device = configure(workload.threads, device)
        self.threads = workload.threads
        Products.__init__(self, workload, phase, form)

    def prepare(self):
        self.calls = [
            (
                jax.jit(functools.partial(_last, role=product.role)),
                jax.device_put(arrays, self.device),
            )
            for product, arrays in zip(self.products, self.arrays)
        ]

    def step(self, inputs, targets):
        return [jax.block_until_ready(run(*operands)) for run, operands in self.calls]

    def fetch(self, handle):
        return handle

    def describe(self):
        return {
            "framework": "JAX",
            "framework_version": jax.__version__,
            "build": {"platform": self.device.client.platform_version},
            "settings": dict(self.settings(), threads=self.threads),
        }


def build(workload, weights, device, phase):
    return MatrixProducts(workload, device, phase, SEPARATE)
