"""A wrong TensorFlow style, not of our making: the gradient that TensorFlow registers for `BlockLSTMV2`
treats it as version 1 of the operator. Its values are right, so forward passes."""

import numpy as np
import tensorflow as tf

from implementations.tensorflow.eager_block import Block
from implementations.tensorflow.model import Model


class BlockV2(Block):
    """One operator a layer; packed, a layer is (w [D + H, 4H], bias [4H]) with gates i, f, g, o."""

    operator = staticmethod(tf.raw_ops.BlockLSTMV2)

    @staticmethod
    def pack(layers):
        packed = []
        for w_input, w_recurrent, bias in layers:
            packed += [np.concatenate([w_input, w_recurrent]), bias]
        return packed

    @staticmethod
    def unpack(values):
        layers = []
        for first in range(0, len(values), 2):
            w, bias = values[first : first + 2]
            depth = w.shape[0] - w.shape[1] // 4
            layers.append((w[:depth], w[depth:], bias))
        return layers


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, BlockV2())
