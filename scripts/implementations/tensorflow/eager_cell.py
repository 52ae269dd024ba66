"""Static cell: the fused operator `LSTMBlockCell`, a Python loop over depth and time, eager."""

import numpy as np
import tensorflow as tf

from .eager_fine_grained import FineGrained
from .model import Model, Stack
from .sessions import SESSIONS, raw_ops

# The raw ops' defaults add 1 to the forget gate and clip the cell at 3.
CELL = {"forget_bias": 0.0, "cell_clip": -1.0, "use_peephole": False}


class BlockLayout(Stack):
    """Weights as `LSTMBlockCell` and `BlockLSTM` want them: gates i, c, f, o, where c is our g."""

    def pack(self, layers):
        return [swap_gates(value) for value in super(BlockLayout, self).pack(layers)]

    def unpack(self, values):
        return super(BlockLayout, self).unpack([swap_gates(value) for value in values])


class BlockCell(BlockLayout):
    """The operator as the step of a style's loop."""

    cells = ("lstm",)
    why_no_other = "LSTMBlockCell is an LSTM; TensorFlow's other cell, GRUBlockCell, resets h before its product"

    def cell(self, w, bias):
        no_peephole = tf.zeros([bias.shape.as_list()[0] // 4])

        def step(x_t, states):
            """x_t [B, D], h and c [B, H] -> new h and c."""
            h, c = states
            found = raw_ops.LSTMBlockCell(
                x=x_t,
                cs_prev=c,
                h_prev=h,
                w=w,
                wci=no_peephole,
                wcf=no_peephole,
                wco=no_peephole,
                b=bias,
                **CELL,
            )
            return [found.h, found.cs]

        return step


class Cell(BlockCell, FineGrained):
    """In a Python loop."""


def swap_gates(array):
    """Gates i, f, g, o -> i, g, f, o along the last axis, and back."""
    i, f, g, o = np.split(array, 4, axis=-1)
    return np.concatenate([i, g, f, o], axis=-1)


def _cell_gradient(op, *gradients):
    x, c_previous, h_previous, w, wci, wcf, wco, bias = op.inputs
    i, c, f, o, ci, co, _ = op.outputs
    d_c, d_h = gradients[1], gradients[6]
    d_c_previous, d_gates, d_wci, d_wcf, d_wco = raw_ops.LSTMBlockCellGrad(
        x=x,
        cs_prev=c_previous,
        h_prev=h_previous,
        w=w,
        wci=wci,
        wcf=wcf,
        wco=wco,
        b=bias,
        i=i,
        cs=c,
        f=f,
        o=o,
        ci=ci,
        co=co,
        cs_grad=d_c,
        h_grad=d_h,
        use_peephole=False,
    )
    xh = tf.concat([x, h_previous], axis=1)  # [B, D + H]
    d_xh = tf.matmul(d_gates, w, transpose_b=True)
    d_x, d_h_previous = tf.split(d_xh, [x.shape[1], h_previous.shape[1]], axis=1)
    d_w = tf.matmul(xh, d_gates, transpose_a=True)
    d_bias = tf.reduce_sum(d_gates, axis=0)
    return d_x, d_c_previous, d_h_previous, d_w, d_wci, d_wcf, d_wco, d_bias


if not SESSIONS:  # TensorFlow 2 has the gradient's kernel and no gradient
    tf.RegisterGradient("LSTMBlockCell")(_cell_gradient)


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, Cell())
