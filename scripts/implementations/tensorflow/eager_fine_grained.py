"""Primitive operators, a Python loop over depth and time, executed one by one."""

import tensorflow as tf

from .model import LanguageModel, Stack


class FineGrained(Stack):
    def __call__(self, x, values):
        """x [T, B, E], canonical weights -> h [T, B, H]."""
        for w_input, w_recurrent, bias in self.unpack(values):
            length, batch, depth = x.shape
            hidden = w_recurrent.shape[0]
            # The input projection needs no recurrence: one large GEMM for all steps.
            projected = tf.matmul(tf.reshape(x, [-1, depth]), w_input)  # [T * B, 4H]
            projected = tf.reshape(tf.nn.bias_add(projected, bias), [length, batch, 4 * hidden])
            h = c = tf.zeros([batch, hidden])
            outputs = []
            for x_t in tf.unstack(projected):  # [B, 4H]
                h, c = cell(x_t, h, c, w_recurrent)
                outputs.append(h)
            x = tf.stack(outputs)  # [T, B, H]
        return x


def cell(x_t, h, c, w_recurrent):
    """One step of primitive operators. x_t [B, 4H], h and c [B, H] -> new h and c."""
    i, f, g, o = tf.split(x_t + tf.matmul(h, w_recurrent), 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    h = tf.sigmoid(o) * tf.tanh(c)
    return h, c


def build(workload, weights, device, phase):
    return LanguageModel(workload, weights, device, phase, FineGrained())
