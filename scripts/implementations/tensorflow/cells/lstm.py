"""LSTM."""

import tensorflow as tf

from .sums import sums


def cell(w, bias, own):
    def step(x_t, states):
        h, c = states
        i, f, g, o = sums(x_t, h, w, bias, 4)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return [tf.sigmoid(o) * tf.tanh(c), c]

    return step
