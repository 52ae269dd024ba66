"""Packing of weights into the order in which the kernel reads them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..spec import KernelSpec

Array = NDArray[np.float32]

LOG2_E = 1.4426950408889634
"""Packed weights are scaled by this, so that the kernel's exp(x) is exp2 of the gate's sum."""

KERNEL_ORDER = [0, 2, 1, 3]
"""The kernel's order of gates, i, g, f, o, as indices of the project's order i, f, g, o."""

GATE_SCALE = np.array([-1.0, -2.0, -1.0, -1.0]) * LOG2_E
"""Factors of the gates i, g, f, o: sigmoid needs exp(-x), tanh needs exp(-2 x), as exp2."""


def padded_size(hidden_size: int, lanes: int) -> int:
    """Hidden size rounded up to whole vectors."""
    return -(-hidden_size // lanes) * lanes


def weight_sizes(spec: KernelSpec, lanes: int) -> list[int]:
    """Packed float32 values of every layer's weights."""
    columns = 4 * padded_size(spec.hidden_size, lanes)
    return [(size + spec.hidden_size) * columns for size in spec.input_sizes()]


def pack_weights(
    w_input: Array, w_recurrent: Array, bias: Array, lanes: int, gates: int
) -> tuple[Array, Array]:
    """Pack one layer: w_input [K, 4H], w_recurrent [H, 4H], bias [4H]; gates i, f, g, o.

    gates: how many the kernel computes in one pass. Returns weights
    [H/lanes, 4/gates, K + H, gates, lanes] and bias [H/lanes, 4, lanes], both flat, gates in
    KERNEL_ORDER, scaled by GATE_SCALE (in float64) and padded with zeros where H is no multiple
    of lanes. Padded units keep h = c = 0.
    """
    hidden = w_recurrent.shape[0]
    padded = padded_size(hidden, lanes)
    rows = np.concatenate([w_input, w_recurrent, bias[None]]).astype(np.float64)
    ordered = rows.reshape(-1, 4, hidden)[:, KERNEL_ORDER] * GATE_SCALE[:, None]
    full = np.zeros((rows.shape[0], 4, padded))
    full[:, :, :hidden] = ordered
    blocks = full.reshape(-1, 4 // gates, gates, padded // lanes, lanes).transpose(3, 1, 0, 2, 4)
    return (
        np.ascontiguousarray(blocks[:, :, :-1], dtype=np.float32).ravel(),
        np.ascontiguousarray(blocks[:, :, -1], dtype=np.float32).ravel(),
    )


def pack_stack(
    layers: Sequence[tuple[Array, Array, Array]], lanes: int, gates: int
) -> tuple[Array, Array]:
    """Pack all layers of a stack, each (w_input, w_recurrent, bias), into two flat arrays."""
    packed = [pack_weights(*layer, lanes, gates) for layer in layers]
    weights, biases = zip(*packed, strict=True)
    return np.concatenate(weights), np.concatenate(biases)
