"""A step of every cell in NumPy, and its gradient, worked out by hand: what the reference's layers are made of.

A step takes the sums of a cell (one for each of its biases), its vectors and its states, and gives the new states and what
its gradient needs; all are [B, H], vectors [H]. The gradient takes that and the gradients of the new states, and gives
those of the sums, of the vectors (summed over the batch) and of the old states, as far as these do not come through sums.
"""

import numpy as np

from measurement.cells import Known, reference_of

VARIANCE = 1e-5  # what a layer's normalisation adds to the variance


def sigmoid(x):
    """Logistic function, any shape."""
    return 1.0 / (1.0 + np.exp(-x))


def lstm(sums, vectors, states):
    """Hochreiter & Schmidhuber 1997 with forget gates (Gers et al. 2000)."""
    (i, f, g, o), (_, c) = sums, states
    i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
    previous, c = c, f * c + i * g
    t = np.tanh(c)
    return (o * t, c), (i, f, g, o, t, previous)


def lstm_gradient(tape, d_h, d_c):
    i, f, g, o, t, previous = tape
    d_c = d_c + d_h * o * (1 - t**2)
    d_i, d_f = d_c * g * i * (1 - i), d_c * previous * f * (1 - f)
    d_g, d_o = d_c * i * (1 - g**2), d_h * t * o * (1 - o)
    return (d_i, d_f, d_g, d_o), (), (0.0, d_c * f)


def gru(sums, vectors, states):
    """Cho et al. 2014, the reset gate applied to the product of h, as cuDNN has it."""
    (r, z, of_x, of_h), (h,) = sums, states
    r, z = sigmoid(r), sigmoid(z)
    n = np.tanh(of_x + r * of_h)
    return ((1 - z) * n + z * h,), (r, z, n, of_h, h)


def gru_gradient(tape, d_h):
    r, z, n, of_h, h = tape
    d_n = d_h * (1 - z) * (1 - n**2)
    d_r, d_z = d_n * of_h * r * (1 - r), d_h * (h - n) * z * (1 - z)
    return (d_r, d_z, d_n, d_n * r), (), (d_h * z,)


def coupled(sums, vectors, states):
    """The input gate is what the forget gate leaves (CIFG; Greff et al. 2015)."""
    (f, g, o), (_, c) = sums, states
    f, g, o = sigmoid(f), np.tanh(g), sigmoid(o)
    previous, c = c, f * c + (1 - f) * g
    t = np.tanh(c)
    return (o * t, c), (f, g, o, t, previous)


def coupled_gradient(tape, d_h, d_c):
    f, g, o, t, previous = tape
    d_c = d_c + d_h * o * (1 - t**2)
    d_f, d_g = d_c * (previous - g) * f * (1 - f), d_c * (1 - f) * (1 - g**2)
    return (d_f, d_g, d_h * t * o * (1 - o)), (), (0.0, d_c * f)


def peephole(sums, vectors, states):
    """Gates see the memory, the output gate the new one (Gers & Schmidhuber 2000)."""
    (i, f, g, o), (_, c), (see_i, see_f, see_o) = sums, states, vectors
    i, f, g = sigmoid(i + see_i * c), sigmoid(f + see_f * c), np.tanh(g)
    previous, c = c, f * c + i * g
    o, t = sigmoid(o + see_o * c), np.tanh(c)
    return (o * t, c), (i, f, g, o, t, c, previous, vectors)


def peephole_gradient(tape, d_h, d_c):
    i, f, g, o, t, c, previous, (see_i, see_f, see_o) = tape
    d_o = d_h * t * o * (1 - o)
    d_c = d_c + d_h * o * (1 - t**2) + d_o * see_o
    d_i, d_f = d_c * g * i * (1 - i), d_c * previous * f * (1 - f)
    d_vectors = (d_i * previous).sum(0), (d_f * previous).sum(0), (d_o * c).sum(0)
    d_previous = d_c * f + d_i * see_i + d_f * see_f
    return (d_i, d_f, d_c * i * (1 - g**2), d_o), d_vectors, (0.0, d_previous)


def norm(x):
    """x [B, H] normalised over its units, and what it was divided by [B, 1]."""
    centred = x - x.mean(-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + VARIANCE)
    return centred / deviation, deviation


def norm_gradient(y, deviation, d_y):
    """Of what was normalised to y, from that of y."""
    along = y * (d_y * y).mean(-1, keepdims=True)
    return (d_y - d_y.mean(-1, keepdims=True) - along) / deviation


def layer_norm(sums, vectors, states):
    """Gates and memory normalised over the units, with a gain and a shift each (Ba et al. 2016)."""
    gains, shifts, (_, c) = vectors[::2], vectors[1::2], states
    normed = [norm(each) for each in sums]
    before = [a * y + b for a, b, (y, _) in zip(gains, shifts, normed)]
    i, f, g, o = sigmoid(before[0]), sigmoid(before[1]), np.tanh(before[2]), sigmoid(before[3])
    previous, c = c, f * c + i * g
    normed.append(norm(c))
    t = np.tanh(gains[4] * normed[4][0] + shifts[4])
    return (o * t, c), (i, f, g, o, t, previous, normed, gains)


def layer_norm_gradient(tape, d_h, d_c):
    i, f, g, o, t, previous, normed, gains = tape
    d_t = d_h * o * (1 - t**2)
    d_c = d_c + norm_gradient(*normed[4], d_y=d_t * gains[4])
    d_i, d_f = d_c * g * i * (1 - i), d_c * previous * f * (1 - f)
    shifted = (d_i, d_f, d_c * i * (1 - g**2), d_h * t * o * (1 - o), d_t)
    d_vectors = []
    for d, (y, _) in zip(shifted, normed):
        d_vectors += [(d * y).sum(0), d.sum(0)]
    d_sums = [norm_gradient(*n, d_y=a * d) for d, a, n in zip(shifted[:4], gains, normed)]
    return tuple(d_sums), tuple(d_vectors), (0.0, d_c * f)


def slstm(sums, vectors, states):
    """Exponential gates, a normaliser n and a stabiliser m (Beck et al. 2024, equations 8 to 18)."""
    (i, f, z, o), (_, c, n, m) = sums, states
    stable = np.maximum(f + m, i)
    i, f, z, o = np.exp(i - stable), np.exp(f + m - stable), np.tanh(z), sigmoid(o)
    before, c, n = (c, n), f * c + i * z, f * n + i
    return (o * c / n, c, n, stable), (i, f, z, o, c, n, before)


def slstm_gradient(tape, d_h, d_c, d_n, d_m):
    """c and n share the factor exp(-m), which leaves their ratio: no gradient flows through m."""
    i, f, z, o, c, n, (previous_c, previous_n) = tape
    d_o = d_h * c / n * o * (1 - o)
    d_c, d_n = d_c + d_h * o / n, d_n - d_h * o * c / n**2
    d_i, d_f = (d_c * z + d_n) * i, (d_c * previous_c + d_n * previous_n) * f
    return (d_i, d_f, d_c * i * (1 - z**2), d_o), (), (0.0, d_c * f, d_n * f, 0.0)


def _generated(name):
    module = reference_of(name)
    return module.step, module.gradient


BUILT_IN = {
    "lstm": (lstm, lstm_gradient),
    "gru": (gru, gru_gradient),
    "coupled": (coupled, coupled_gradient),
    "peephole": (peephole, peephole_gradient),
    "layer-norm": (layer_norm, layer_norm_gradient),
    "slstm": (slstm, slstm_gradient),
}
STEPS = Known(BUILT_IN, _generated)
