"""Primitive operators in a `tf.while_loop` over time, one a layer, in one graph."""

import tensorflow as tf

from .eager_fine_grained import cell
from .model import Model, Stack


class WhileLoop(Stack):
    cell = staticmethod(cell)

    def __call__(self, x, values):
        """x [T, B, E] -> h [T, B, H]."""
        length, batch, depth = x.shape.as_list()
        xs = tf.TensorArray(tf.float32, length, element_shape=[batch, depth]).unstack(x)
        for w, bias in zip(values[::2], values[1::2]):
            xs = layer(self.cell, xs, length, batch, w, bias)
        h = xs.stack()
        # TensorFlow 2.0 forgets the length.
        h.set_shape([length, batch, values[-1].shape.as_list()[0] // 4])
        return h


def layer(cell, xs, length, batch, w, bias):
    """A loop around `cell`. TensorArray of T x_t [B, D], w [D + H, 4H], bias [4H] -> TensorArray of T h [B, H]."""
    hidden = bias.shape.as_list()[0] // 4

    def body(t, h, c, outputs):
        h, c = cell(xs.read(t), h, c, w, bias)
        return [t + 1, h, c, outputs.write(t, h)]  # a list, as the loop variables are

    zeros = tf.zeros([batch, hidden])
    outputs = tf.TensorArray(tf.float32, length, element_shape=[batch, hidden])
    loop = tf.while_loop(
        lambda t, *_: t < length,
        body,
        [tf.constant(0), zeros, zeros, outputs],
        maximum_iterations=length,
    )
    return loop[-1]


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, WhileLoop(), function={})
