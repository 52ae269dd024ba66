"""Primitive operators, a Python loop over depth and time, executed one by one.

One GEMM a step takes x_t and h together. Hoisting the input projection out of the loop, as one
large GEMM a layer, was slower on a CPU: it writes [T, B, 4H] and reads it again, and in a graph no
layer can start before the layer below has ended.
"""

import tensorflow as tf

from .model import Model, Stack


class FineGrained(Stack):
    def __call__(self, x, values):
        """x [T, B, E] -> h [T, B, H]."""
        batch = x.shape.as_list()[1]
        xs = tf.unstack(x)  # T of [B, D]
        for w, bias in zip(values[::2], values[1::2]):
            h = c = tf.zeros([batch, bias.shape.as_list()[0] // 4])
            outputs = []
            for x_t in xs:
                h, c = cell(x_t, h, c, w, bias)
                outputs.append(h)
            xs = outputs
        return tf.stack(xs)  # [T, B, H]


def cell(x_t, h, c, w, bias):
    """One step. x_t [B, D], h and c [B, H], w [D + H, 4H], bias [4H] -> new h and c."""
    gates = tf.nn.bias_add(tf.matmul(tf.concat([x_t, h], axis=1), w), bias)  # [B, 4H]
    i, f, g, o = tf.split(gates, 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    h = tf.sigmoid(o) * tf.tanh(c)
    return h, c


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, FineGrained())
