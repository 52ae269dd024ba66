"""Keras 2: `train_on_batch` and `predict_on_batch`, the same for its backends TensorFlow and Theano."""

import keras
import numpy as np
from keras import backend as K

from measurement.contract import Unsupported

from .model import Model, corrected


class Adam(keras.optimizers.Adam):
    """Keras 2's Adam with the paper's epsilon; differentiates once, for the update and for the check."""

    gradients = None

    def get_gradients(self, loss, params):
        if self.gradients is None:
            self.gradients = super(Adam, self).get_gradients(loss, params)
        return self.gradients

    def get_updates(self, loss, params):
        step = K.cast(self.iterations, K.floatx()) + 1
        self.epsilon = corrected(self.epsilon, self.beta_2, step)
        return super(Adam, self).get_updates(loss=loss, params=params)


class Classic(Model):
    """A subclass says how its backend is set up."""

    optimizer = Adam

    def __init__(self, workload, *others):
        if workload.loss == "ctc":
            raise Unsupported(
                "Keras 2's CTC is another function: it adds 1e-7 to probabilities on TensorFlow, and mixes them with "
                "1e-4 of even ones on Theano"
            )
        super(Classic, self).__init__(workload, *others)

    def prepare(self):
        if self._phase == "training":
            constants = dict(self._workload.optimizer)
            del constants["name"]
            optimizer = self.optimizer(lr=constants.pop("learning_rate"), **constants)
            model = self._model
            model.compile(optimizer, self.loss)
            # `train_on_batch` returns metrics beside the loss, and these are what it has for ones.
            model.metrics_tensors += optimizer.get_gradients(
                model.total_loss, model.trainable_weights
            )

    def loss(self, targets, logits):
        return K.sparse_categorical_crossentropy(targets, logits, from_logits=True)

    def step(self, inputs, targets):
        if self._phase == "forward":
            return self._model.predict_on_batch(inputs)
        loss = self._model.train_on_batch(inputs, targets[..., None])
        return loss[0], loss[1:]

    def host(self, tensor):
        return np.asarray(tensor)
