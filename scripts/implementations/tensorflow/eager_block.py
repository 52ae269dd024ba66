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

    def __call__(self, x, values):
        """x [T, B, E] -> h [T, B, H]."""
        for w, bias in zip(values[::2], values[1::2]):
            length, batch = x.shape.as_list()[:2]
            hidden = bias.shape.as_list()[0] // 4
            zeros, no_peephole = tf.zeros([batch, hidden]), tf.zeros([hidden])
            x = self.operator(
                seq_len_max=tf.constant(length, tf.int64),  # steps to run
                x=x,
                cs_prev=zeros,
                h_prev=zeros,
                w=w,
                wci=no_peephole,
                wcf=no_peephole,
                wco=no_peephole,
                b=bias,
            ).h  # [T, B, H]
        return x


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, Block())
