"""Primitive operators in a `tf.while_loop` over time, one a layer, in one graph."""

import tensorflow as tf

from .eager_fine_grained import FineGrained
from .model import Model


class WhileLoop(FineGrained):
    def __call__(self, x, values, state):
        """x [T, B, E] -> h [T, B, H], state."""
        length, batch, depth = x.shape.as_list()
        xs = tf.TensorArray(tf.float32, length, element_shape=[batch, depth]).unstack(x)
        after = []
        for w, bias, h, c in zip(values[::2], values[1::2], state[::2], state[1::2]):
            h, c, xs = self._loop(self.cell(w, bias), xs, length, h, c)
            after += [h, c]
        h = xs.stack()
        # TensorFlow 2.0 forgets the length.
        h.set_shape([length, batch, values[-1].shape.as_list()[0] // 4])
        return h, after

    def _loop(self, step, xs, length, h, c):
        """TensorArray of T x_t [B, D], h and c [B, H] -> the last h and c, TensorArray of T h [B, H]."""

        def body(t, h, c, outputs):
            h, c = step(xs.read(t), h, c)
            outputs = outputs.write(t, self.dropped(h))
            return [t + 1, h, c, outputs]  # a list, as the loop variables are

        outputs = tf.TensorArray(tf.float32, length, element_shape=h.shape)
        loop = tf.while_loop(
            lambda t, *_: t < length,
            body,
            [tf.constant(0), h, c, outputs],
            maximum_iterations=length,
        )
        return loop[1:]


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, WhileLoop(), function={})
