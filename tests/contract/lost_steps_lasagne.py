"""Wrong Lasagne rows that do less than the whole of a sequence."""

import functools

from implementations.lasagne import lstm_layer
from tests.tiny import KEPT_STEPS


def style(first=None, **options):
    """`build` of a row whose steps from `first(T)` on alone count, or whose LSTMLayer has other options."""

    class Losing(lstm_layer.Classifier):
        def _lstm(self, below, *others):
            if first:
                steps = slice(first(below.output_shape[1]), None)
                below = lstm_layer.layers.SliceLayer(below, steps, axis=1)
            right = lstm_layer.layers.LSTMLayer
            lstm_layer.layers.LSTMLayer = functools.partial(right, **options)
            try:
                return lstm_layer.Classifier._lstm(self, below, *others)
            finally:
                lstm_layer.layers.LSTMLayer = right

    return Losing


truncated = style(gradient_steps=KEPT_STEPS)
skipped = style(lambda length: 1)
reset = style(lambda length: length // 2)
