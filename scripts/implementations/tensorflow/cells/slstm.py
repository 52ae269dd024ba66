"""LSTM with exponential gates, a normaliser and a stabiliser."""

import tensorflow as tf

from .sums import sums


def cell(w, bias, own):
    def step(x_t, states):
        h, c, n, m = states
        i, f, z, o = sums(x_t, h, w, bias, 4)
        f = f + m
        m = tf.maximum(f, i)
        i, f = tf.exp(i - m), tf.exp(f - m)
        c = f * c + i * tf.tanh(z)
        n = f * n + i
        return [tf.sigmoid(o) * c / n, c, n, m]

    return step
