"""LSTM whose input gate is what the forget gate leaves."""

import tensorflow as tf

from .sums import sums


def cell(w, bias, own):
    def step(x_t, states):
        h, c = states
        f, g, o = sums(x_t, h, w, bias, 3)
        f, g = tf.sigmoid(f), tf.tanh(g)
        c = g + f * (c - g)
        return [tf.sigmoid(o) * tf.tanh(c), c]

    return step
