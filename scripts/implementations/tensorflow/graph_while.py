"""Primitive operators in a `tf.while_loop` over time, one a layer, in one graph."""

import tensorflow as tf

from .eager_fine_grained import FineGrained
from .model import Model

DATA_TYPES = ("float32", "bfloat16")


class WhileLoop(FineGrained):
    def __call__(self, x, values, state):
        """x [T, B, E] -> h [T, B, H], state."""
        length, batch, depth = x.shape.as_list()
        xs = tf.TensorArray(x.dtype, length, element_shape=[batch, depth]).unstack(x)
        after = []
        for weights, states in self.layers(values, state):
            states, xs = self._loop(self.cell(*weights), xs, length, states)
            after += states
        h = xs.stack()
        # TensorFlow 2.0 forgets the length.
        h.set_shape([length, *states[0].shape.as_list()])
        return h, after

    def _loop(self, step, xs, length, states):
        """TensorArray of T x_t [B, D], states [B, H] -> the last states, TensorArray of T h [B, H]."""

        def body(t, *given):
            *states, outputs = given
            states = step(xs.read(t), states)
            outputs = outputs.write(t, self.dropped(states[0]))
            return [t + 1, *states, outputs]  # a list, as the loop variables are

        outputs = tf.TensorArray(xs.dtype, length, element_shape=states[0].shape)
        loop = tf.while_loop(
            lambda t, *_: t < length,
            body,
            [tf.constant(0), *states, outputs],
            maximum_iterations=length,
        )
        return list(loop[1:-1]), loop[-1]


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, WhileLoop(), function={})
