"""A generated kernel on NumPy's arrays, and the same in float64 by the reference, sequence by sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recurrent_cells.cells import reference
from recurrent_cells.cells.language import Cell
from recurrent_cells.codegen import Kernel, Shape, Strided

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """What a layer is asked for. lengths: of each row, `None` for T; resets: [T, B]."""

    cell: Cell
    shape: Shape
    lengths: np.ndarray | None = None
    resets: np.ndarray | None = None
    reverse: bool = False
    initial: bool = True
    threads: int = 1
    batch_first: bool = False
    half: bool = False
    int8: bool = False
    threads_backward: int = 0  # 0: as many


def drawn(case: Case, seed: int = 0) -> Arrays:
    """Random weights, inputs and gradients; values of bfloat16 for half precision, weights of int8 in steps."""
    shape, random = case.shape, np.random.default_rng(seed)
    steps, batch, inputs, hidden, outputs = shape

    def uniform(*sizes: int) -> np.ndarray:
        return rounded(random.uniform(-1, 1, sizes).astype(np.float32))

    def rounded(values: np.ndarray) -> np.ndarray:
        return widened(narrowed(values)) if case.half else values

    layer = reference.random_layer(case.cell, inputs, hidden, random, outputs)
    vectors = slice(3, 3 + len(case.cell.vectors))
    layer[vectors] = [
        (around + value).astype(np.float32)
        for around, value in zip(case.cell.around, layer[vectors], strict=True)
    ]
    shapes = case.cell.state_shapes(hidden, outputs)
    states = [
        (case.cell.start(name) + 0.5 * uniform(batch, *own)).astype(np.float32)
        for name, own in zip(case.cell.states, shapes, strict=True)
    ]
    layer = [rounded(one) for one in layer]
    if case.int8:
        layer = [_in_steps(one, 0).astype(np.float32) if one.ndim == 2 else one for one in layer]
    states[0] = rounded(states[0])
    return {
        "weights": layer,
        "x": uniform(steps, batch, inputs),
        "initial": states,
        "d_y": uniform(steps, batch, outputs),
        "d_final": [uniform(*state.shape) for state in states],
    }


class Narrow(np.ndarray):
    """An array whose products are of bfloat16, as is all that is computed from it. `nudge`: the share of a value that is added
    before rounding."""

    nudge = 0.0

    def __matmul__(self, other: np.ndarray) -> np.ndarray:
        return (in_narrow(self) @ in_narrow(other)).view(Narrow)

    def __rmatmul__(self, other: np.ndarray) -> np.ndarray:
        return (in_narrow(other) @ in_narrow(self)).view(Narrow)

    def __array_function__(self, *called: Any) -> Any:
        found = super().__array_function__(*called)
        return found.view(Narrow) if isinstance(found, np.ndarray) else found


def in_narrow(values: np.ndarray) -> np.ndarray:
    """Rounded to bfloat16."""
    values = np.asarray(values)
    return widened(narrowed(values * (1 + Narrow.nudge))).astype(values.dtype)


def expected_in_half(
    case: Case, given: Arrays, nudge: float = 0.0, kind: type[np.floating[Any]] = np.float64
) -> Arrays:
    """`expected`, rounded wherever half kernels round."""
    Narrow.nudge = nudge
    weights = [one.view(Narrow) if one.ndim == 2 else one for one in given["weights"]]
    found = expected(case, {**given, "weights": weights, "x": given["x"].view(Narrow)}, kind)
    found["final"][0] = in_narrow(found["final"][0])
    return found | {name: in_narrow(found[name]) for name in ("y", "d_x")}


class Quantised(np.ndarray):
    """A matrix whose products are of 127 steps of the largest value: of each of its columns, and of each row that it multiplies.
    `nudge`: steps that are added before rounding."""

    nudge = 0.0

    def __rmatmul__(self, x: np.ndarray) -> np.ndarray:
        return _in_steps(x, 1, self.nudge) @ _in_steps(np.asarray(self), 0, self.nudge)


def _in_steps(values: np.ndarray, axis: int, nudge: float = 0.0) -> np.ndarray:
    step = np.abs(values).max(axis, keepdims=True, initial=1e-30) / 127
    return np.rint(values / step + nudge) * step


def quantised(given: Arrays, nudge: float = 0.0) -> Arrays:
    """The same with matrices that multiply as those of int8 kernels."""
    weights = [one.view(Quantised) if one.ndim == 2 else one for one in given["weights"]]
    Quantised.nudge = nudge
    return {**given, "weights": weights}


def narrowed(values: np.ndarray) -> np.ndarray:
    """float32 as bfloat16, rounded to the nearest, in uint16."""
    words = np.ascontiguousarray(values, np.float32).view(np.uint32)
    words = (words + (0x7FFF + ((words >> 16) & 1)).astype(np.uint32)) >> 16
    return np.where(np.isnan(values), 0x7FC0, words).astype(np.uint16)


def widened(values: np.ndarray) -> np.ndarray:
    """bfloat16 in uint16 as float32."""
    return (values.astype(np.uint32) << 16).view(np.float32)


def _address(array: np.ndarray | None) -> int:
    return 0 if array is None else array.ctypes.data


GUARD = 256


def _memory(size: int) -> np.ndarray:
    """What has not been written is no number, so that whatever reads it shows; so are GUARD values behind it."""
    return np.full(size + GUARD, np.nan, np.float32)[:size]


def _untouched(*memory: np.ndarray) -> bool:
    """Whether nothing was written behind the memory."""
    return all(np.isnan(one.base[len(one) :]).all() for one in memory)  # type: ignore[index]


class _Layout:
    """Arrays [T, B, n] in memory as [T, B, n + 3] or, batch first, [B, T, n + 3], in float32 or bfloat16."""

    def __init__(self, batch_first: bool, half: bool) -> None:
        self._order = (1, 0, 2) if batch_first else (0, 1, 2)
        self._half = half

    def put(self, values: np.ndarray) -> np.ndarray:
        """A copy that lies so."""
        wide = np.full((*values.shape[:2], values.shape[2] + 3), np.nan, np.float32)
        if self._half:
            wide, values = narrowed(wide), narrowed(values)
        wide = np.ascontiguousarray(wide.transpose(self._order)).transpose(self._order)
        wide[:, :, : values.shape[2]] = values
        return wide[:, :, : values.shape[2]]

    @staticmethod
    def strided(array: np.ndarray) -> Strided:
        """As a kernel takes it."""
        step, row, _ = (stride // array.itemsize for stride in array.strides)
        return Strided(array.ctypes.data, step, row)


def computed(case: Case, given: Arrays, training: bool = True) -> Arrays:
    """By the kernel."""
    kernel, shape, threads = Kernel.of(case.cell, case.half, case.int8), case.shape, case.threads
    steps, batch, inputs, _, outputs = shape
    layout, sizes = _Layout(case.batch_first, case.half), kernel.sizes(shape, threads)
    weights = given["weights"]
    x = layout.put(_unread(case, given["x"]))
    y = layout.put(np.full((steps, batch, outputs), np.nan, np.float32))
    initial, final = given["initial"], [np.full_like(one, np.nan) for one in given["initial"]]
    if case.half:
        initial = [narrowed(initial[0]), *initial[1:]]
        final[0] = narrowed(final[0])
    packed, tape, scratch = map(_memory, (sizes.packed, sizes.tape, sizes.scratch))
    lengths = None if case.lengths is None else case.lengths.astype(np.int64)
    resets = None if case.resets is None else np.ascontiguousarray(case.resets, np.uint8)
    common: Arrays = {
        "weights": list(map(_address, weights)),
        "initial": list(map(_address, initial)) if case.initial else None,
        "lengths": _address(lengths),
        "resets": _address(resets),
        "reverse": case.reverse,
        "threads": threads,
    }
    kernel.forward(
        shape,
        x=layout.strided(x),
        y=layout.strided(y),
        packed=_address(packed),
        scratch=_address(scratch),
        final=list(map(_address, final)),
        tape=_address(tape) if training else 0,
        **common,
    )
    assert _untouched(packed, tape, scratch)
    found: Arrays = {"y": y, "final": final}
    if case.half:
        found = {"y": widened(y), "final": [widened(final[0]), *final[1:]]}
    if not training:
        return found
    common["threads"] = case.threads_backward or threads
    sizes = kernel.sizes(shape, common["threads"])
    packed, scratch = _memory(sizes.packed_backward), _memory(sizes.scratch_backward)
    d_x = layout.put(np.full((steps, batch, inputs), np.nan, np.float32))
    d_y = layout.put(_unread(case, given["d_y"]))
    d_initial = [np.full_like(state, np.nan) for state in given["initial"]]
    d_weights = [np.full_like(one, np.nan) for one in weights]
    kernel.backward(
        shape,
        x=layout.strided(x),
        y=layout.strided(y),
        packed=_address(packed),
        tape=_address(tape),
        scratch=_address(scratch),
        d_y=layout.strided(d_y),
        d_final=list(map(_address, given["d_final"])),
        d_x=layout.strided(d_x),
        d_initial=list(map(_address, d_initial)),
        d_weights=list(map(_address, d_weights)),
        **common,
    )
    assert _untouched(packed, tape, scratch)
    d_x = widened(d_x) if case.half else d_x
    return found | {"d_x": d_x, "d_initial": d_initial, "d_weights": d_weights}


def _unread(case: Case, values: np.ndarray) -> np.ndarray:
    """With padding that must not be read."""
    values = values.copy()
    for row, length in enumerate(case.lengths if case.lengths is not None else []):
        values[length:, row] = np.nan
    return values


def expected(case: Case, given: Arrays, kind: type[np.floating[Any]] = np.float64) -> Arrays:
    """By the reference in floating-point numbers of a kind."""
    cell, (steps, batch, inputs, hidden, outputs) = case.cell, case.shape
    weights = [one.astype(kind) for one in given["weights"]]
    found: Arrays = {
        "y": np.zeros((steps, batch, outputs), kind),
        "final": [np.zeros(state.shape, kind) for state in given["initial"]],
        "d_x": np.zeros((steps, batch, inputs), kind),
        "d_initial": [np.zeros(state.shape, kind) for state in given["initial"]],
        "d_weights": [np.zeros_like(one) for one in weights],
    }
    sizes = dict(zip(cell.states, cell.state_shapes(hidden, outputs), strict=True))
    start = reference.initial_states(cell, 1, 1, sizes)
    start = {name: one.astype(kind) for name, one in start.items()}
    alike = case.lengths is None and case.resets is None
    at_once = max(batch, 1) if alike else 1
    for row in range(0, batch, at_once):
        rows = slice(row, row + at_once)
        length = steps if case.lengths is None else int(case.lengths[row])
        times = np.arange(length)
        cuts = [] if case.resets is None else [t for t in range(length) if case.resets[t, row]]
        # The first piece, also one without a step, begins with the initial states.
        pieces = np.split(times, cuts)
        if case.reverse:
            pieces = [piece[::-1] for piece in np.split(times, [t for t in cuts if t])[::-1]]
        _rows(case, given, weights, found, rows, pieces, start)
    return found


def _rows(
    case: Case,
    given: Arrays,
    weights: list[np.ndarray],
    found: Arrays,
    rows: slice,
    pieces: list[np.ndarray],
    start: Arrays,
) -> None:
    names = case.cell.states
    kind = weights[0].dtype
    own = _of_rows(names, given["initial"], rows, kind)
    start = {name: np.repeat(one, rows.stop - rows.start, 1) for name, one in start.items()}
    pieces = [
        piece for place, piece in enumerate(pieces) if len(piece) or place in (0, len(pieces) - 1)
    ]
    last = _of_rows(names, given["d_final"], rows, kind)
    for place, piece in enumerate(pieces):
        begin = own if place == 0 and case.initial else start
        end = (
            last
            if place == len(pieces) - 1
            else {name: np.zeros_like(last[name]) for name in names}
        )
        x = given["x"][piece, rows].astype(kind)
        y, final, tape = reference.forward(case.cell, x, [weights], begin)
        if not len(piece):
            final = begin
            d_x, d_begin, d_weights = x, end, [[np.zeros_like(one) for one in weights]]
        else:
            d_y = given["d_y"][piece, rows].astype(kind)
            d_x, d_begin, d_weights = reference.gradients(case.cell, [weights], tape, d_y, end)
            found["y"][piece, rows] = y
            found["d_x"][piece, rows] = d_x
        for number, name in enumerate(names):
            if place == len(pieces) - 1:
                found["final"][number][rows] = final[name][0]
            if place == 0:
                found["d_initial"][number][rows] = d_begin[name][0]
        for total, one in zip(found["d_weights"], d_weights[0], strict=True):
            total += one


def _of_rows(
    names: Sequence[str], states: list[np.ndarray], rows: slice, kind: np.dtype[Any]
) -> dict[str, np.ndarray]:
    return {name: one[None, rows].astype(kind) for name, one in zip(names, states, strict=True)}


def errors(found: Arrays, right: Arrays) -> dict[str, float]:
    """Largest difference of each array over the largest value of what is right, at least 1e-3."""

    def error(difference: np.ndarray, truth: np.ndarray) -> float:
        return float(difference.max() / max(np.abs(truth).max(), 1e-3))

    return _compared(found, right, error)


def mean_errors(found: Arrays, right: Arrays) -> dict[str, float]:
    """Root mean square of differences over that of what is right, at least 3e-5."""

    def error(difference: np.ndarray, truth: np.ndarray) -> float:
        scale = max(float(np.square(truth).mean()), 1e-9)
        return float(np.sqrt(np.square(difference).mean() / scale))

    return _compared(found, right, error)


def one_wrong(right: Arrays) -> dict[str, float]:
    """What `mean_errors` are where one value of each array is off by the root mean square of all."""
    return _compared(right, right, lambda _, truth: float(truth.size**-0.5))


def _compared(
    found: Arrays, right: Arrays, error: Callable[[np.ndarray, np.ndarray], float]
) -> dict[str, float]:
    told = {}
    for name, one in found.items():
        several = one if isinstance(one, list) else [one]
        exact = right[name] if isinstance(one, list) else [right[name]]
        for place, (values, truth) in enumerate(zip(several, exact, strict=True)):
            if truth.size:
                worst = error(np.abs(np.asarray(values) - np.asarray(truth)), np.asarray(truth))
                told[f"{name}_{place}"] = np.inf if np.isnan(worst) else worst
    return told
