"""The monolithic operator `BlockLSTM`, all time steps of a layer in one op, eager.

Version 1 of the op: the gradient registered for `BlockLSTMV2` treats it as version 1, whose gate
order differs, and is wrong (TensorFlow 2.21).
"""

import functools

import tensorflow as tf

from .eager_cell import CELL, BlockLayout
from .model import Model
from .sessions import raw_ops


class Block(BlockLayout):
    operator = staticmethod(functools.partial(raw_ops.BlockLSTM, **CELL))

    def __call__(self, x, values, state):
        """x [T, B, E] -> h [T, B, H], state."""
        after = []
        for w, bias, h, c in zip(values[::2], values[1::2], state[::2], state[1::2]):
            length, hidden = x.shape.as_list()[0], bias.shape.as_list()[0] // 4
            no_peephole = tf.zeros([hidden])
            found = self.operator(
                seq_len_max=tf.constant(length, tf.int64),  # steps to run
                x=x,
                cs_prev=c,
                h_prev=h,
                w=w,
                wci=no_peephole,
                wcf=no_peephole,
                wco=no_peephole,
                b=bias,
            )
            x = self.dropped(found.h)  # [T, B, H]
            after += [found.h[-1], found.cs[-1]]
        return x, after


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, Block())
