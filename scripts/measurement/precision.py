"""Number formats that products are computed in, and how far they may be from the float64 reference.

A format of p significant bits rounds a number by at most u = 2**-p of it. In half precision a step of a layer rounds what
goes into its products, what comes out of them and its state: errors of both signs, which no step knows of the others, so
that those of N steps add up like a random walk, to u * sqrt(N). TOLERATED times that is let pass.

Of an output, N is L layers times the steps that a unit remembers and one more, what comes in. Just below 1 the format's numbers are u apart, and a forget
gate of 1 - 1 / (e T), which keeps 0.7 of a first step over T steps, is rounded to 1 where T is above 2 / (e u), about 190. With
the weights of float32's check, which remember all steps (checking.remembering), an honest row is then off by 0.11 at 1,024
steps, and a wrong one would pass. In half precision they remember 1 / (8 u) steps at most, 32 in bfloat16 (`remembered`).
Of a gradient, it is all T steps, there and back: it is a sum over them, rounded at every term.

Int8 is weights rounded once, and x and h rounded anew at every step, to 255 numbers between the extremes of a matrix; sums and states
are float32. Its u is that of the largest number, and with the 7 bits that some kernels use so that sums of 16 bits hold them.

Measured with bfloat16 on a CPU with AVX512-BF16 (PyTorch 2.13's operators and nn.LSTM, OpenVINO 2026.4; 64 to 1,024 units);
the worst row's error, in u, of what is allowed: outputs 2.3 of 4.2 after 1 step, 1.9 of 9.0 after 8, 6.5 of 17 after 64, 6.8 of
17 after 1,024, 5.1 of 30 with 3 layers and 50 steps; gradients 2.8 of 5.2, 3.2 of 12, 10 of 34, 39 of 136 and 5.7 of 52, and
68 of 136 with 4 layers and 256 steps.
"""

import math

FLOAT32, BFLOAT16, INT8 = "float32", "bfloat16", "int8"
BITS = {FLOAT32: 24, BFLOAT16: 8, INT8: 7}  # significant ones, the leading one included
TOLERATED = 3


def rounding(data_type):
    """The largest relative error of one number."""
    return 2.0 ** -BITS[data_type]


def remembered(data_type, length):
    """Over how many of `length` steps a check's weights keep what they have seen."""
    return min(length, int(1 / (8 * rounding(data_type))))


def tolerance(data_type, phase, layers, length):
    """Of the largest relative error in another format than float32, which has a bound of its own: 0."""
    if data_type == FLOAT32:
        return 0.0
    steps = remembered(data_type, length) if phase == "forward" else 2 * length
    return TOLERATED * rounding(data_type) * math.sqrt(layers * (steps + 1))


def refusal(data_type, told):
    """Why a step that was asked for a format is not timed under its name, "" where products of it ran in that; told: what
    Runner.precision gives."""
    told = told or {}
    if sum(told.get(data_type, {}).values()):
        return ""
    single = told.get(FLOAT32, {})
    if not sum(single.values()):
        return "cannot verify that its products ran in %s" % data_type
    counts = ", ".join("%d %s" % (count, name) for name, count in sorted(single.items()))
    return "%s was requested, but it runs in float32 (%s)" % (data_type, counts)
