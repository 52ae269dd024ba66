"""Primitive operators, a Python loop over depth and time, executed one by one.

One GEMM a step takes x_t and h together. Hoisting the input projection out of the loop, as one
large GEMM a layer, was slower on a CPU: it writes [T, B, 4H] and reads it again, and in a graph no
layer can start before the layer below has ended.
"""

import functools

import tensorflow as tf

from .model import Model, Stack


class FineGrained(Stack):
    def cell(self, w, bias):
        """A layer's step: x_t, h, c -> new h and c."""
        return functools.partial(cell, w=w, bias=bias)

    def __call__(self, x, values, state):
        """x [T, B, E] -> h [T, B, H], state."""
        xs, after = tf.unstack(x), []  # T of [B, D]
        for w, bias, h, c in zip(values[::2], values[1::2], state[::2], state[1::2]):
            step, outputs = self.cell(w, bias), []
            for x_t in xs:
                h, c = step(x_t, h, c)
                outputs.append(self.dropped(h))
            xs = outputs
            after += [h, c]
        return tf.stack(xs), after


def cell(x_t, h, c, w, bias):
    """One step. x_t [B, D], h and c [B, H], w [D + H, 4H], bias [4H] -> new h and c."""
    gates = tf.nn.bias_add(tf.matmul(tf.concat([x_t, h], axis=1), w), bias)  # [B, 4H]
    i, f, g, o = tf.split(gates, 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    h = tf.sigmoid(o) * tf.tanh(c)
    return h, c


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, FineGrained())
