"""A wrong JAX style: its values are right, and one of its gradients is a thousandth too long."""

from jax import lax

from implementations.jax.model import Model
from implementations.jax.scan import scanned


def bent(x, layers):
    w_input, w_recurrent, bias = layers[0]
    longer = w_recurrent * 1.001 - lax.stop_gradient(w_recurrent * 0.001)
    return scanned("lstm")(x, [(w_input, longer, bias), *layers[1:]])


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, bent)
