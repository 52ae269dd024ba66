"""Primitive operators, a Python loop over depth and time, executed one by one.

One GEMM a step takes x_t and h together. Hoisting the input projection out of the loop, as one
large GEMM a layer, was slower on a CPU: it writes [T, B, 4H] and reads it again, and in a graph no
layer can start before the layer below has ended.
"""

import tensorflow as tf

from .cells import CELLS
from .model import Model, Stack


class FineGrained(Stack):
    cells = CELLS

    def starts(self, workload):
        return list(self.kind.starts) * workload.layers

    def cell(self, w, *others):
        """A layer's step: x_t, states -> new states."""
        gates = w.shape.as_list()[1]
        hidden = gates // len(self.kind.of_x)
        if not self.stacked:
            w, others = (w, others[0]), others[1:]
        bias, *vectors = others
        matrices = []
        if self.kind.matrices:
            size = hidden // self.kind.heads
            sizes = [len(self.kind.of_h) * size] + [size] * len(self.kind.matrices)
            recurrent, *matrices = tf.split(w[1], sizes, axis=1)
            w = w[0], recurrent
        if not self.kind.vectors and len(self.kind.biases) == len(self.kind.of_x):
            return CELLS[self.name](w, bias, matrices)
        own = tf.reshape(tf.concat([bias[gates:], *vectors], axis=0), [-1, hidden])
        return CELLS[self.name](w, bias[:gates], tf.unstack(own) + matrices)

    def __call__(self, x, values, state):
        """x [T, B, E] -> h [T, B, H], state."""
        xs, after = tf.unstack(x), []  # T of [B, D]
        for weights, states in self.layers(values, state):
            step, outputs = self.cell(*weights), []
            for x_t in xs:
                states = step(x_t, states)
                outputs.append(self.dropped(states[0]))
            xs = outputs
            after += states
        return tf.stack(xs), after


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, FineGrained())
