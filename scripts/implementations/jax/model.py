"""All workloads in JAX, without their LSTM layers: what every style here shares.

A style gives `stack(x [T, B, D], layers) -> h [T, B, H]`, `layers` being one tuple (w_input [D, 4H],
w_recurrent [H, 4H], bias [4H]) a layer: the canonical layouts, which are JAX's own. The whole batch is one compiled
function, with an update by optax, unless a style says that its operators are dispatched one by one.
"""

import os

import jax
import numpy as np
import optax
from jax import numpy as jnp

from implementations.hlo import dots
from measurement import precision
from measurement.contract import Runner, Unsupported
from measurement.workload import layer_weights

from .fetching import fetched


def configure(threads, device):
    """Set what is global to the process, before the first operator; -> the device."""
    os.environ["NPROC"] = str(threads)  # XLA's CPU threads; read when it starts
    found = next((each for each in jax.devices() if each.platform == device), None)
    if found is None:
        raise Unsupported("JAX %s sees no %s" % (jax.__version__, device.upper()))
    jax.config.update("jax_default_device", found)
    return found


def affine(x, w, bias):
    """x [..., D], w [D, N] -> [..., N]. Of matrices: with three axes, XLA took a quarter longer on a CPU."""
    return (x.reshape(-1, x.shape[-1]) @ w + bias).reshape(x.shape[:-1] + (-1,))


class Model(Runner):
    """Embedding, if any -> stack -> projection, if any (-> loss -> update)."""

    def __init__(self, workload, weights, device, phase, stack, compiled=True):
        """Arguments as in contract.py; compiled: the batch is one function."""
        if workload.bidirectional or workload.carried:
            raise Unsupported("it runs layers one way, from zero states")
        self.device = configure(workload.threads, device)
        self.workload, self.stack, self.last = workload, stack, None
        self.half = workload.data_type == precision.BFLOAT16
        self.training = phase == "training"
        self.weights = {name: jnp.array(value) for name, value in weights.items()}
        run, donated = (self.trained, 0) if self.training else (self.output, ())
        self.run = jax.jit(run, donate_argnums=donated) if compiled else run
        self.settings = {
            "threads": workload.threads,
            "compiled": "batch" if compiled else "operators",
        }
        if self.training:
            self.optimizer = optimizer(workload.optimizer)
            self.moments = self.optimizer.init(self.weights)
            self.settings["optimizer"] = "optax " + optax.__version__

    def output(self, weights, inputs):
        """inputs [T, B] or [T, B, D] -> logits [T, B, C], those of the last step [B, C], or h [T, B, H]; see
        contract.py."""
        if self.half:
            weights = {name: value.astype(jnp.bfloat16) for name, value in weights.items()}
        x = weights["embedding"][inputs] if "embedding" in weights else jnp.asarray(inputs)
        x = x.astype(jnp.bfloat16) if self.half else x
        h = self.stack(x, layer_weights(weights))
        h = h[-1] if self.workload.loss == "ce-last" else h
        if "projection.weight" not in weights:
            return h
        return affine(h, weights["projection.weight"], weights.get("projection.bias", 0.0))

    def loss(self, weights, inputs, targets):
        """See Workload.batches."""
        logits = self.output(weights, inputs).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()

    def trained(self, state, inputs, targets):
        """state: weights and moments, which the update consumes; -> those after it, the loss, its gradients."""
        loss, gradients = jax.value_and_grad(self.loss)(state[0], inputs, targets)
        return self.updated(state, gradients), loss, gradients

    def updated(self, state, gradients):
        weights, moments = state
        changes, moments = self.optimizer.update(gradients, moments, weights)
        return optax.apply_updates(weights, changes), moments

    def step(self, inputs, targets):
        if not self.training:
            self.last = self.run(self.weights, inputs)
            return self.last
        state, *self.last = self.run((self.weights, self.moments), inputs, targets)
        self.weights, self.moments = state
        return self.last

    def on_device(self, inputs, targets):
        return jax.block_until_ready(jax.device_put((inputs, targets), self.device))

    def synchronise(self):
        jax.block_until_ready((self.weights, self.last))

    def precision(self, inputs, targets):
        """Products of the compiled batch by what they read, as XLA's text has them: a bfloat16 one may be converted."""
        state = (
            ((self.weights, self.moments), inputs, targets)
            if self.training
            else (self.weights, inputs)
        )
        return dots(self.run.lower(*state).compile().as_text())

    def device_peak_bytes(self):
        statistics = self.device.memory_stats()  # a CPU has none
        return statistics["peak_bytes_in_use"] if statistics else None

    def loss_of(self, handle):
        return float(handle[0])

    def results(self, handle):
        if not self.training:
            return {"output": np.asarray(fetched(handle), np.float32)}
        loss, gradients = handle
        return {"loss": float(loss), "gradients": host(gradients)}

    def parameters(self):
        return host(self.weights)

    def describe(self):
        product = jax.jit(lambda a, b: a * b)(
            np.float32(2e-38), np.float32(1e-2)
        )  # 2e-40: denormal
        return {
            "framework": "JAX",
            "framework_version": jax.__version__,
            "build": {"platform": self.device.client.platform_version},
            "settings": dict(self.settings, flush_to_zero=float(product) == 0),
        }


def host(tensors):
    """{name: device array} -> {name: array}, copies: an update consumes what it is given."""
    return {name: np.array(fetched(tensor)) for name, tensor in tensors.items()}


def optimizer(constants):
    """The optimizer that a benchmark's `optimizer` entry names; optax adds Adam's epsilon to the corrected sqrt(v)."""
    if constants["name"] == "adam":
        betas = constants["beta_1"], constants["beta_2"]
        return optax.adam(constants["learning_rate"], *betas, eps=constants["epsilon"])
    return optax.sgd(constants["learning_rate"])
