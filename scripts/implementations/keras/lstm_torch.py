"""`keras.layers.LSTM` on PyTorch: a Python loop over the steps of a layer and direction."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"
sys.modules["tensorflow"] = None  # Keras would import it, where it finds it, to look for its types

import keras
import torch

from implementations.pytorch.model import configure

from .model import Model, corrected


class OnTorch(Model):
    """The step of Keras's own `train_step`, that also gives its gradients."""

    def configure(self, device, threads):
        self._device = configure(threads, device)
        return {"threads": torch.get_num_threads(), "flush_to_zero": True}

    def prepare(self):
        if self._phase == "training":
            constants = dict(self._workload.optimizer)
            del constants["name"]
            self._epsilon = constants["epsilon"]
            self._optimizer = keras.optimizers.Adam(**constants)
            self._optimizer.build(self._model.trainable_variables)

    def step(self, inputs, targets):
        inputs = torch.as_tensor(inputs, device=self._device)
        if self._phase == "forward":
            with torch.no_grad():
                return self._model(inputs, training=False)
        self._steps += 1
        self._model.zero_grad()
        targets = torch.as_tensor(targets, device=self._device)
        loss = self.loss(targets, self._model(inputs, training=True))
        loss.backward()
        variables = self._model.trainable_variables
        gradients = [variable.value.grad for variable in variables]
        beta_2 = self._optimizer.beta_2
        self._optimizer.epsilon = corrected(self._epsilon, beta_2, self._steps)
        with torch.no_grad():
            self._optimizer.apply(gradients, variables)
        return loss, gradients

    def synchronise(self):
        if self._device.type == "cuda":
            torch.cuda.synchronize()

    def build_facts(self):
        return {"torch": torch.__version__, "configuration": torch.__config__.show()}

    def device_peak_bytes(self):
        return torch.cuda.max_memory_allocated() if self._device.type == "cuda" else None


def build(workload, weights, device, phase):
    use_cudnn = "auto" if device == "cpu" else False  # another row
    return OnTorch(workload, weights, device, phase, use_cudnn=use_cudnn)
