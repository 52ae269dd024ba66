"""What cells of several gates have in common."""

import tensorflow as tf


def sums(x_t, h, w, bias, gates):
    """x_t [B, D], h [B, H], w [D + H, gates * H], bias [gates * H] -> the sums of each gate [B, H]: one GEMM."""
    product = tf.matmul(tf.concat([x_t, h], axis=1), w)
    return tf.split(tf.nn.bias_add(product, bias), gates, axis=1)
