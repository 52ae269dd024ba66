"""`keras.layers.LSTM` on JAX: a `lax.scan` a layer and direction; XLA compiles the whole step."""

import os
import sys

os.environ["KERAS_BACKEND"] = "jax"
sys.modules["tensorflow"] = None  # Keras would import it, where it finds it, to look for its types

import jax
import numpy as np

from measurement.contract import Unsupported

from .model import Adam, Model


class OnJax(Model):
    """The step of Keras's own `train_step`, that also gives its gradients."""

    def configure(self, device, threads):
        os.environ["NPROC"] = str(threads)  # XLA's CPU threads; read when it starts
        self._device = next((each for each in jax.devices() if each.platform == device), None)
        if self._device is None:
            raise Unsupported("JAX %s sees no %s" % (jax.__version__, device.upper()))
        jax.config.update("jax_default_device", self._device)
        product = jax.jit(lambda a, b: a * b)(
            np.float32(2e-38), np.float32(1e-2)
        )  # 2e-40 is denormal
        return {"threads": threads, "flush_to_zero": float(product) == 0}

    def prepare(self):
        self._state = [
            [variable.value for variable in variables]
            for variables in (self._model.trainable_variables, self._model.non_trainable_variables)
        ]
        if self._phase == "forward":
            self._run = jax.jit(self._forward)
            return
        self._optimizer = Adam(self._workload.optimizer)
        self._optimizer.build(self._model.trainable_variables)
        self._state.append([variable.value for variable in self._optimizer.variables])
        self._run = jax.jit(self._train, donate_argnums=0)

    def _forward(self, state, inputs):
        return self._model.stateless_call(*state, inputs, training=False)[0]

    def _loss(self, trainable, others, inputs, targets):
        logits, others = self._model.stateless_call(trainable, others, inputs, training=True)
        return self.loss(targets, logits), others

    def _train(self, state, inputs, targets):
        trainable, others, moments = state
        differentiate = jax.value_and_grad(self._loss, has_aux=True)
        (loss, others), gradients = differentiate(trainable, others, inputs, targets)
        trainable, moments = self._optimizer.stateless_apply(moments, gradients, trainable)
        return [trainable, others, moments], (loss, gradients)

    def step(self, inputs, targets):
        if self._phase == "forward":
            self._last = self._run(self._state, inputs)
            return self._last
        self._state, self._last = self._run(self._state, inputs, targets)
        return self._last

    def synchronise(self):
        jax.block_until_ready((self._state, self._last))

    def parameters(self):
        return self.named(map(self.host, self._state[0]))

    def build_facts(self):
        return {"jax": jax.__version__, "platform": self._device.client.platform_version}


def build(workload, weights, device, phase):
    use_cudnn = "auto" if device == "cpu" else False  # another row
    return OnJax(workload, weights, device, phase, use_cudnn=use_cudnn)
