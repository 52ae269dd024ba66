"""Number formats that products are computed in, and how far they may be from the float64 reference.

A format of p significant bits rounds a number by at most u = 2**-p of it. In half precision a step of a layer rounds what
goes into its products, what comes out of them and its state: errors of both signs, which no step knows of the others. With
the weights of a check (checking.remembering), half of the units forget nothing, so that the errors of T steps of L layers
add up like a random walk, and those of the way back through them as well: their standard deviation is u * sqrt(2 L T).
TOLERATED of those are let pass, as the largest of thousands of elements is compared.

Measured with bfloat16 in PyTorch (u = 0.0039; one layer, 128 units), largest error of an output or a gradient over this bound:
0.011 of 0.063 at 8 steps, 0.014 of 0.18 at 64, 0.13 of 0.50 at 512 forward, and 0.24 of 0.44 at 400 with gradients.
"""

import math

FLOAT32, BFLOAT16 = "float32", "bfloat16"
BITS = {FLOAT32: 24, BFLOAT16: 8}  # significant ones, the leading one included
TOLERATED = 4


def tolerance(data_type, layers, length):
    """Of the largest relative error in a format of half precision; 0 of float32, which has a bound of its own."""
    if data_type == FLOAT32:
        return 0.0
    return TOLERATED * 2.0 ** -BITS[data_type] * math.sqrt(2 * layers * length)
