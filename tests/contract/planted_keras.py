"""A wrong Keras 2 row: TensorFlow 1 updates weights that gradients have still to read.

Unpatched Keras 2 allows that, and with hundreds of units it happens in most runs; here the order is forced.
"""

import tensorflow as tf

from implementations.keras.lstm_tensorflow import InSession, OrderedAdam


class Late(OrderedAdam):
    def get_updates(self, loss, params):
        updates = super().get_updates(loss, params)
        with tf.control_dependencies(updates):
            late = [tf.convert_to_tensor(each) for each in tf.gradients(loss, params)]
        self.shown[-len(late) :] = late
        return updates


class Unordered(InSession):
    optimizer = Late

    def prepare(self):
        InSession.prepare(self)
        if self._phase == "training":
            self._model.optimizer.shown = self._model.metrics_tensors


def build(workload, weights, device, phase):
    return Unordered(workload, weights, device, phase)
