"""LSTM with layer normalisation of its gates and of its memory."""

import tensorflow as tf

from .sums import sums


def norm(x, gain, shift):
    mean, variance = tf.nn.moments(x, [1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * gain + shift


def cell(w, bias, own):
    a_i, b_i, a_f, b_f, a_g, b_g, a_o, b_o, a_c, b_c = own

    def step(x_t, states):
        h, c = states
        i, f, g, o = sums(x_t, h, w, bias, 4)
        i, f = tf.sigmoid(norm(i, a_i, b_i)), tf.sigmoid(norm(f, a_f, b_f))
        g, o = tf.tanh(norm(g, a_g, b_g)), tf.sigmoid(norm(o, a_o, b_o))
        c = f * c + i * g
        return [o * tf.tanh(norm(c, a_c, b_c)), c]

    return step
