"""Where weights and states lie: shapes of the functions' arguments, and NumPy's packing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recurrent_cells.cells.language import Cell
from recurrent_cells.cells.simplify import scales

from ..runtime import Array, Layer
from ..spec import KernelSpec

LINE = 16
"""float32 values in a cache line."""


def whole_lines(values: int) -> int:
    """Float32 values rounded up to whole cache lines, at which TVM wants an argument to begin."""
    return -(-values // LINE) * LINE


def passes(cell: Cell, at_most: int) -> list[range]:
    """The cell's sums, divided over passes."""
    sums = len(cell.sums)
    return [range(first, min(first + at_most, sums)) for first in range(0, sums, at_most)]


def taking(cell: Cell, own: range, is_x: bool) -> range:
    """The sums of a pass that have a part of x, or of h: neighbours, as Cell.sums has them."""
    having = range(cell.x_sums) if is_x else range(len(cell.sums) - cell.h_sums, len(cell.sums))
    first = max(own.start, having.start)
    return range(first, max(first, min(own.stop, having.stop)))


def block_vectors(cell: Cell, inputs: int, outputs: int) -> int:
    """Vectors of weights of one block of units, from a layer's input and its own output."""
    return cell.x_sums * inputs + cell.h_sums * outputs


def padded_size(hidden_size: int, lanes: int) -> int:
    """Hidden size rounded up to whole vectors."""
    return -(-hidden_size // lanes) * lanes


def weight_sizes(cell: Cell, spec: KernelSpec, lanes: int) -> list[int]:
    """Packed float32 values of every layer's weights."""
    columns, outputs = padded_size(spec.hidden_size, lanes), spec.places(spec.hidden_size)
    return [
        columns * block_vectors(cell, spec.places(size), outputs) for size in spec.input_sizes()
    ]


def buffer_shapes(cell: Cell, spec: KernelSpec, lanes: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the arguments of `main`, in their order; all are float32.

    x [T, B, K] input; weights, bias and vectors as `pack_stack` gives them; h0, c0, ... [D, B, H] initial states;
    y [T, B, H] the last layer's output; h, c, ... [D, B, H] final states.
    """
    padded = padded_size(spec.hidden_size, lanes)
    shapes: dict[str, tuple[int, ...]] = {
        "x": (spec.length, spec.batch, spec.input_size),
        "weights": (sum(weight_sizes(cell, spec, lanes)),),
        "bias": (spec.depth * len(cell.sums) * padded,),
    }
    if cell.vectors:
        shapes["vectors"] = (spec.depth * len(cell.vectors) * padded,)
    state = (spec.depth, spec.batch, spec.hidden_size)
    shapes |= {f"{name}0": state for name in cell.states}
    shapes["y"] = (spec.length, spec.batch, spec.hidden_size)
    return shapes | dict.fromkeys(cell.states, state)


def declared_places(cell: Cell, is_x: bool) -> dict[int, int]:
    """For each sum (its place in the kernels' order) that has a part of x, or of h, its gate's among the matrix's columns."""
    gates = cell.x_gates if is_x else cell.h_gates
    return {
        place: gates.index(one.name.split(".")[0])
        for place, one in enumerate(cell.sums)
        if (one.x if is_x else one.h)
    }


def pairs(rows: Array) -> Array:
    """[K, ...] to [K / 2, ...]: rows k and k + 1, as bfloat16, in the lower and the upper half of float32's places.

    Rounded to the nearest, to even; the last of an odd number of rows is paired with zeros.
    """
    bits = np.zeros((len(rows) + len(rows) % 2, *rows.shape[1:]), np.uint32)
    bits[: len(rows)] = np.ascontiguousarray(rows, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16
    return (rounded[::2] | rounded[1::2] << 16).view(np.float32)


def pack_weights(
    cell: Cell, layer: Layer, lanes: int, gates: int, paired: bool = False
) -> tuple[Array, ...]:
    """Pack one layer; `gates`: how many sums the kernel computes in one pass; `paired`: weights as `pairs` of bfloat16.

    Returns weights as GateBlock reads them, bias [H/lanes, sums, lanes] and vectors [vectors, H], all flat, empty where the cell
    has none; sums in the kernels' order, scaled as `scales` says (in float64), padded with zeros where H is no multiple of lanes.
    Padded units keep states of zero.
    """
    w_input, w_recurrent, bias, *vectors = layer
    hidden = bias.size // len(cell.sums)
    padded = padded_size(hidden, lanes)
    factors = [scales(cell)[one.name] for one in cell.sums]

    def blocks(rows: Array, own: range, is_x: bool) -> np.ndarray:
        """[rows, gates * H] to [H/lanes, rows, sums of a pass, lanes]."""
        places = declared_places(cell, is_x)
        given = rows.astype(np.float64).reshape(len(rows), rows.shape[1] // hidden, hidden)
        full = np.zeros((len(rows), len(own), padded))
        for to, one in enumerate(own):
            full[:, to, :hidden] = given[:, places[one]] * factors[one]
        full = pairs(full) if paired else full.astype(np.float32)
        return full.reshape(len(full), len(own), padded // lanes, lanes).transpose(2, 0, 1, 3)

    count = padded // lanes
    parts = [
        blocks(rows, found, is_x).reshape(count, -1)
        for own in passes(cell, gates)
        for rows, is_x in ((w_input, True), (w_recurrent, False))
        if (found := taking(cell, own, is_x))
    ]
    ordered = bias.reshape(-1, hidden).astype(np.float64)
    full = np.zeros((len(cell.sums), padded))
    for to, one in enumerate(cell.sums):
        full[to, :hidden] = ordered[cell.declared_sums.index(one.name)] * factors[to]
    packed_bias = full.reshape(-1, count, lanes).transpose(1, 0, 2)
    packed_vectors = np.zeros((len(vectors), padded))
    for to, vector in enumerate(vectors):
        packed_vectors[to, :hidden] = vector
    found = np.concatenate(parts, axis=1), packed_bias, packed_vectors
    return tuple(value.astype(np.float32).ravel() for value in found)


def pack_stack(
    cell: Cell, layers: Sequence[Layer], lanes: int, gates: int, paired: bool = False
) -> tuple[Array, ...]:
    """Pack all layers of a stack into flat arrays: weights, bias, vectors."""
    packed = [pack_weights(cell, layer, lanes, gates, paired) for layer in layers]
    return tuple(np.concatenate(parts) for parts in zip(*packed, strict=True))


def flat_shapes(cell: Cell, spec: KernelSpec, vocabulary: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a language model's weights in the order in which they lie side by side.

    `embedding`, then `<layer>.w_input`, ... of every layer (see TrainedLayer.shapes), `w_output`, `w_output_bias`.
    """
    hidden = spec.hidden_size
    shapes: dict[str, tuple[int, ...]] = {"embedding": (vocabulary, spec.input_size)}
    for number, inputs in enumerate(spec.input_sizes()):
        shapes[f"{number}.w_input"] = (inputs, len(cell.x_gates) * hidden)
        shapes[f"{number}.w_recurrent"] = (hidden, len(cell.h_gates) * hidden)
        shapes[f"{number}.w_bias"] = (len(cell.sums) * hidden,)
        if cell.vectors:
            shapes[f"{number}.w_vectors"] = (len(cell.vectors), hidden)
    return shapes | {"w_output": (hidden, vocabulary), "w_output_bias": (vocabulary,)}


def classifier_shapes(cell: Cell, spec: KernelSpec, classes: int) -> dict[str, tuple[int, ...]]:
    """Those of a classifier of sequences: no embedding, and no bias of the output."""
    shapes = flat_shapes(cell, spec, classes)
    return {name: shapes[name] for name in shapes if name not in ("embedding", "w_output_bias")}


def flat_size(cell: Cell, spec: KernelSpec, vocabulary: int) -> int:
    """Float32 values of a language model's weights, each in whole cache lines."""
    return views_size(flat_shapes(cell, spec, vocabulary))


def views_size(shapes: dict[str, tuple[int, ...]]) -> int:
    """Float32 values of arrays of these shapes, each in whole cache lines."""
    return sum(whole_lines(int(np.prod(shape))) for shape in shapes.values())


def flat_views(flat: Array, shapes: dict[str, tuple[int, ...]]) -> dict[str, Array]:
    """The parts of one flat array by name."""
    found, start = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        found[name] = flat[start : start + size].reshape(shape)
        start += whole_lines(size)
    return found
