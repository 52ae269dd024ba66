"""A wrong Keras 2 row, not of our making: TensorFlow 1 may update a weight that a gradient has still to read.

With hundreds of units it does. The values are right, so forward passes.
"""

import tensorflow as tf

from implementations.keras import classic
from implementations.keras.lstm_tensorflow import InSession


class Unordered(classic.Adam):
    def get_gradients(self, loss, params):
        gradients = super().get_gradients(loss, params)
        return [tf.convert_to_tensor(each) for each in gradients]


class Unpatched(InSession):
    optimizer = Unordered


def build(workload, weights, device, phase):
    return Unpatched(workload, weights, device, phase)
