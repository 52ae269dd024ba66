"""Primitive operators in a `tf.while_loop` over time, one a layer, in one graph."""

import tensorflow as tf

from .eager_fine_grained import cell
from .model import LanguageModel, Stack


class WhileLoop(Stack):
    def __call__(self, x, values):
        """x [T, B, E], canonical weights -> h [T, B, H]."""
        for w_input, w_recurrent, bias in self.unpack(values):
            x = layer(x, w_input, w_recurrent, bias)
        return x


def layer(x, w_input, w_recurrent, bias):
    """x [T, B, D] -> h [T, B, H]."""
    length, batch, depth = x.shape
    hidden = w_recurrent.shape[0]
    # The input projection needs no recurrence: one large GEMM for all steps.
    projected = tf.matmul(tf.reshape(x, [-1, depth]), w_input)  # [T * B, 4H]
    projected = tf.reshape(tf.nn.bias_add(projected, bias), [length, batch, 4 * hidden])
    steps = tf.TensorArray(tf.float32, length, element_shape=[batch, 4 * hidden])
    steps = steps.unstack(projected)
    outputs = tf.TensorArray(tf.float32, length, element_shape=[batch, hidden])

    def body(t, h, c, outputs):
        h, c = cell(steps.read(t), h, c, w_recurrent)
        return [t + 1, h, c, outputs.write(t, h)]  # a list: a tuple changes the structure

    zeros = tf.zeros([batch, hidden])
    loop = tf.while_loop(
        lambda t, *_: t < length,
        body,
        [tf.constant(0), zeros, zeros, outputs],
        maximum_iterations=length,
    )
    return loop[-1].stack()  # [T, B, H]


def build(workload, weights, device, phase):
    return LanguageModel(workload, weights, device, phase, WhileLoop(), function={})
