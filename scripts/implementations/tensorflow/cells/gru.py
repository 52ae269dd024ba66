"""Gated recurrent unit, linear before reset."""

import tensorflow as tf


def cell(w, bias, own):
    hidden = w.shape.as_list()[1] // 3
    w_input, w_recurrent = tf.split(w, [w.shape.as_list()[0] - hidden, hidden])

    def step(x_t, states):
        (h,) = states
        r_x, z_x, n_x = tf.split(tf.nn.bias_add(tf.matmul(x_t, w_input), bias), 3, axis=1)
        r_h, z_h, n_h = tf.split(tf.matmul(h, w_recurrent), 3, axis=1)
        r, z = tf.sigmoid(r_x + r_h), tf.sigmoid(z_x + z_h)
        n = tf.tanh(n_x + r * (n_h + own[0]))
        return [n + z * (h - n)]

    return step
