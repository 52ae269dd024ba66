"""Keras 2's `LSTM` on Theano: a `theano.scan` a layer and direction, compiled by Theano."""

import os

os.environ["KERAS_BACKEND"] = "theano"

from implementations.theano_flags import build_facts, configure

# isort: split
from keras import backend as K

from .classic import Classic

FORKS = False  # where compiled code lies is fixed when Theano is imported


class OnTheano(Classic):
    def configure(self, device, threads):
        return configure(device, threads)

    def prepare(self):
        """Compiled here and not by the first batch."""
        super(OnTheano, self).prepare()
        if self._phase == "training":
            self._model._make_train_function()
        else:
            self._model._make_predict_function()

    def loss(self, targets, logits):
        """Theano's softmax takes matrices."""
        rows = K.reshape(logits, (-1, K.shape(logits)[-1]))
        losses = super(OnTheano, self).loss(targets, rows)
        return K.reshape(losses, K.shape(logits)[:-1])

    def build_facts(self):
        return build_facts()


def build(workload, weights, device, phase):
    return OnTheano(workload, weights, device, phase)
