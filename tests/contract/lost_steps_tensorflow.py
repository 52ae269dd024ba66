"""Wrong TensorFlow styles that do less than the whole of a sequence."""

import tensorflow as tf

from implementations.tensorflow.eager_fine_grained import FineGrained
from implementations.tensorflow.model import Model
from tests.tiny import KEPT_STEPS


class Split(FineGrained):
    """Splits a sequence at `first_steps(T)` and does `between` with h [B, H] or c there."""

    def __init__(self, first_steps, between):
        self._first_steps, self._between = first_steps, between

    def __call__(self, x, values, state):
        split = self._first_steps(x.shape.as_list()[0])
        before, state = FineGrained.__call__(self, x[:split], values, state)
        after, state = FineGrained.__call__(
            self, x[split:], values, list(map(self._between, state))
        )
        return tf.concat([before, after], axis=0), state


def style(*split):
    return lambda *given: Model(*given, Split(*split))


truncated = style(lambda length: length - KEPT_STEPS, tf.stop_gradient)
skipped = style(lambda length: 1, tf.zeros_like)
reset = style(lambda length: length // 2, tf.zeros_like)
