"""The monolithic kernel: all layers and time steps in one `CudnnRNNV3` op, eager; GPU only."""

import numpy as np
import tensorflow as tf

from measurement.contract import Unsupported

from .model import Model, Stack
from .sessions import raw_ops


class Cudnn(Stack):
    """cuDNN takes one buffer: the matrices of all layers, then the biases of all layers.

    A layer, or each direction of one that runs both ways, has an input and a recurrent matrix and two biases; each is the gates i, f, g, o in
    turn, a gate's matrix transposed to [H, D]. Here they are two variables, the matrices (flat) and
    the biases [layers or 2 * layers, 4H]; the second bias is a constant zero: with two, Adam would step twice.
    """

    def __init__(self, workload, training):
        parts = [name for name in workload.shapes() if name.endswith((".input", ".recurrent"))]
        self._shapes = [workload.shapes()[name][::-1] for name in parts]  # transposed
        self._direction = "bidirectional" if workload.bidirectional else "unidirectional"
        self._lengths = workload.lengths
        if workload.lengths is None:
            self._lengths = [workload.length] * workload.batch
        self._training = training

    def state_shapes(self, workload):
        """h and c of all layers, or of each direction of those that run both ways."""
        return [(len(self._shapes) // 2, workload.batch, workload.hidden)] * 2

    def __call__(self, x, values, state):
        """x [T, B, E] -> h [T, B, H], state."""
        matrices, biases = values
        both = tf.stack([biases, tf.zeros_like(biases)], axis=1)  # [layers, 2, 4H]
        found = raw_ops.CudnnRNNV3(  # version 3: the one that Keras calls
            input=x,
            input_h=state[0],
            input_c=state[1],
            params=tf.concat([matrices, tf.reshape(both, [-1])], axis=0),
            sequence_lengths=tf.constant(self._lengths, tf.int32),
            rnn_mode="lstm",
            direction=self._direction,
            is_training=self._training,
            dropout=self.dropout,  # between layers
        )
        return self.dropped(found.output), [found.output_h, found.output_c]

    def both_ways(self, x, values, state, backwards):
        return self(x, values, state)[0]

    def pack(self, layers):
        # [D, 4H] transposed and flattened: gate after gate, [H, D] each
        matrices = [matrix.T.reshape(-1) for layer in layers for matrix in layer[:2]]
        return [np.concatenate(matrices), np.stack([bias for _, _, bias in layers])]

    def unpack(self, values):
        ends = np.cumsum([rows * columns for rows, columns in self._shapes])[:-1]
        matrices = [
            flat.reshape(shape).T for flat, shape in zip(np.split(values[0], ends), self._shapes)
        ]
        return list(zip(matrices[::2], matrices[1::2], values[1]))


def model(workload, weights, device, phase, function=None):
    """The model around the stack. Raises Unsupported on a CPU."""
    if device == "cpu":
        # Keras's LSTM would run a loop of operators there: another row.
        raise Unsupported("cuDNN runs on NVIDIA GPUs only: CudnnRNNV3 has no CPU kernel")
    stack = Cudnn(workload, phase == "training")
    return Model(workload, weights, device, phase, stack, function)


def build(workload, weights, device, phase):
    return model(workload, weights, device, phase)
