"""Any cell in NumPy, as its expressions say: what its kernels are held against.

In float64, and for derivatives also in complex128: a step of 1e-30 along the imaginary axis gives a derivative without
any difference being taken (Squire & Trapp 1998), and so without `derivative`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .derivative import Backward, backward, gradient_name
from .language import VARIANCE, Cell, computed

Values = Any


def _mean(x: Values) -> Values:
    return x.mean(-1, keepdims=True)


def _inverse(x: Values) -> Values:
    return 1.0 / np.sqrt(_mean((x - _mean(x)) ** 2) + VARIANCE)


def _norm_gradient(d_y: Values, y: Values, inverse: Values) -> Values:
    """The gradient of what was normalised to y, from that of y."""
    return inverse * (d_y - _mean(d_y) - y * _mean(d_y * y))


def _softplus(x: Values) -> Values:
    """log(1 + exp(x)), where exp stays finite."""
    positive = np.real(x) > 0
    return np.where(positive, x, 0.0) + np.log1p(np.exp(np.where(positive, -x, x)))


def _by_heads(x: Values, heads: int, size: int) -> Values:
    """[B, n * H] as [heads, B, n * size], with H / heads = size."""
    count = x.shape[1] // (heads * size)
    apart = x.reshape(len(x), count, heads, size).transpose(2, 0, 1, 3)
    return apart.reshape(heads, len(x), count * size)


def times(x: Values, w: Values, heads: int) -> Values:
    """x [B, H] times n block-diagonal matrices, w [H, n * H / heads] (see `Cell`): [B, n * H]."""
    if heads == 1:
        return x @ w
    size = len(w) // heads
    found = _by_heads(x, heads, size) @ w.reshape(heads, size, w.shape[1])
    found = found.reshape(heads, len(x), w.shape[1] // size, size).transpose(1, 2, 0, 3)
    return found.reshape(len(x), w.shape[1] * heads)


def times_transposed(d: Values, w: Values, heads: int) -> Values:
    """d [B, n * H] times the transposes of the matrices of `times`: [B, H]."""
    if heads == 1:
        return d @ w.T
    size = len(w) // heads
    found = _by_heads(d, heads, size) @ w.reshape(heads, size, w.shape[1]).swapaxes(1, 2)
    return found.transpose(1, 0, 2).reshape(len(d), len(w))


def outer(x: Values, d: Values, heads: int) -> Values:
    """The gradient of w, of x and the gradient d of what `times` gave."""
    if heads == 1:
        return x.T @ d
    size = x.shape[1] // heads
    found = _by_heads(x, heads, size).swapaxes(1, 2) @ _by_heads(d, heads, size)
    return found.reshape(x.shape[1], d.shape[1] // heads)


def _of_head(x: Values, heads: float) -> Values:
    """[B, H] as [B, heads, H / heads]."""
    return x.reshape(len(x), int(heads), -1)


def _read(axes: str, c: Values, x: Values, heads: float) -> Values:
    """Matrices [B, H, H / heads] times x [B, H]."""
    square = c.reshape(len(c), int(heads), -1, c.shape[-1])
    return np.einsum(axes, square, _of_head(x, heads)).reshape(x.shape)


def _outer_state(a: Values, b: Values, heads: float) -> Values:
    found = np.einsum("bhi,bhj->bhij", _of_head(a, heads), _of_head(b, heads))
    return found.reshape(*a.shape, -1)


OPERATIONS = {
    "constant": lambda value: value,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": lambda a, b: np.where(np.real(a) >= np.real(b), a, b),
    "minimum": lambda a, b: np.where(np.real(a) <= np.real(b), a, b),
    "where": lambda condition, a, b: np.where(np.real(condition) > 0.5, a, b),
    "at_least": lambda a, b: np.where(np.real(a) >= np.real(b), 1.0, 0.0),
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "softplus": _softplus,
    "absolute": lambda x: np.where(np.real(x) >= 0, x, -x),
    "sign": lambda x: np.sign(np.real(x)),
    "exp2": np.exp2,
    "exp2_minus_1": lambda x: np.expm1(x * np.log(2.0)),
    "exponential2": np.exp2,
    "norm": lambda x: (x - _mean(x)) * _inverse(x),
    "inverse": _inverse,
    "norm_gradient": _norm_gradient,
    "weight_gradient": lambda x, d, heads: outer(x, d, int(heads)),
    "outer": _outer_state,
    "scale_rows": lambda a, c: a[..., None] * c,
    "read": lambda c, x, heads: _read("bhij,bhj->bhi", c, x, heads),
    "read_transposed": lambda c, x, heads: _read("bhij,bhi->bhj", c, x, heads),
    "row_dot": lambda c, d: (c * d).sum(-1),
    "head_sum": lambda a, heads: _of_head(a, heads).sum(-1).repeat(a.shape[-1] // int(heads), -1),
    "head_mean": lambda a, heads: _of_head(a, heads).mean(-1).repeat(a.shape[-1] // int(heads), -1),
    "product": lambda x, w: times(x, w, len(w) // w.shape[1]),
    "product_transposed": lambda x, w: times_transposed(x, w, len(w) // w.shape[1]),
}


def _sums(
    cell: Cell, x: Values, h: Values, layer: Sequence[Values], recurrent: Values
) -> dict[str, Values]:
    """The weighted sums by name. x [B, K], h [B, H]."""
    hidden = len(layer[2]) // len(cell.sums)

    def split(values: Values, names: Sequence[str]) -> dict[str, Values]:
        return {n: values[..., k * hidden : (k + 1) * hidden] for k, n in enumerate(names)}

    of_x = split(x @ layer[0], cell.x_gates)
    of_h = split(times(h, recurrent, cell.heads), cell.h_gates)
    bias = split(layer[2], cell.declared_sums)
    found = {}
    for one in cell.sums:
        gate = one.name.split(".")[0]
        parts = [part[gate] for part, has in ((of_x, one.x), (of_h, one.h)) if has]
        found[one.name] = sum(parts) + bias[one.name]
    return found


def _matrices(cell: Cell, layer: Sequence[Values]) -> tuple[Values, dict[str, Values]]:
    """The part of w_recurrent that multiplies h, and the matrices by name."""
    if not cell.columns:
        return layer[1], {}
    size, first = layer[1].shape[1] // cell.columns, len(cell.h_gates)
    found = {
        name: layer[1][:, (first + place) * size : (first + place + 1) * size]
        for place, name in enumerate(cell.matrices)
    }
    return layer[1][:, : first * size], found


def forward(
    cell: Cell, x: Values, layers: Sequence[Sequence[Values]], initial: Mapping[str, Values]
) -> tuple[Values, dict[str, Values], list[Any]]:
    """Evaluate layers of a cell in NumPy, in the precision of their weights.

    Parameters
    ----------
    x:
        Input [T, B, K].
    layers:
        Weights of each layer, in the order of `Cell`.
    initial:
        Initial states by name, [depth, B, H] each.

    Returns
    -------
    tuple
        The output y [T, B, H], the final states by name [depth, B, H], and the tape for `gradients`.
    """
    tape, final = [], []
    for number, layer in enumerate(layers):
        states = {name: initial[name][number] for name in cell.states}
        recurrent, own_weights = _matrices(cell, layer)
        own_weights |= dict(zip(cell.vectors, layer[3:], strict=False))
        outputs, own = [], []
        for step in x:
            sums = _sums(cell, step, states[cell.states[0]], layer, recurrent)
            given = {**sums, **states, **own_weights}
            new = computed(cell.outputs.values(), given, OPERATIONS)
            own.append((step, given, new[0]))
            if cell.projected:
                new[0] = new[0] @ layer[-1]
            states = dict(zip(cell.states, new, strict=True))
            outputs.append(states[cell.states[0]])
        tape.append(own)
        final.append(states)
        x = np.array(outputs)
    return x, {name: np.array([each[name] for each in final]) for name in cell.states}, tape


def _by_the_chain_rule(cell: Cell) -> Backward:
    """Gradients of what came in, nothing being kept."""
    from ..sources.numpy_source import gradients as flows

    return Backward({}, flows(cell), {}, [])


def gradients(
    cell: Cell,
    layers: Sequence[Sequence[Values]],
    tape: list[Any],
    d_y: Values,
    d_final: Mapping[str, Values],
) -> tuple[Values, dict[str, Values], list[list[Values]]]:
    """Backpropagate through time.

    Parameters
    ----------
    layers, tape:
        As given to and returned by `forward`.
    d_y, d_final:
        Gradients of the output [T, B, H] and of the final states by name [depth, B, H].

    Returns
    -------
    tuple
        Gradients of x, of the initial states by name, and of the weights of each layer.
    """
    rules: Backward = _by_the_chain_rule(cell) if cell.of_heads else backward(cell)
    found, initial = [], []
    for number, layer in reversed(list(enumerate(layers))):
        states = {name: d_final[name][number] for name in cell.states}
        total = [np.zeros_like(value) for value in layer]
        recurrent, _ = _matrices(cell, layer)
        of_gates, of_matrices = _matrices(cell, total)
        d_x = []
        for (x, given, made), d_output in zip(reversed(tape[number]), d_y[::-1], strict=True):
            states[cell.states[0]] = states[cell.states[0]] + d_output
            if cell.projected:
                total[-1] += made.T @ states[cell.states[0]]
                states[cell.states[0]] = states[cell.states[0]] @ layer[-1].T
            names = {**rules.kept, **rules.inverses}
            kept = dict(zip(names, computed(names.values(), given, OPERATIONS), strict=True))
            inputs = {**given, **kept, **{gradient_name(name): states[name] for name in states}}
            known: dict[Any, Values] = {}
            values = computed(rules.gradients.values(), inputs, OPERATIONS, known)
            for one in rules.products:
                pair = computed([one.source, one.gradient], inputs, OPERATIONS, known)
                x_of, d_of = reversed(pair) if one.transposed else pair
                of_matrices[one.matrix] += outer(x_of, d_of, cell.heads)
            zeros = np.zeros_like(made)
            own = {
                name: value + (0.0 if name in (*cell.squares, *cell.matrices) else zeros)
                for name, value in zip(rules.gradients, values, strict=True)
            }
            for name in set(cell.matrices) & set(own):
                of_matrices[name] += own[name]

            def gates(
                part: str, own: dict[str, Values] = own, none: Values = zeros[..., :0]
            ) -> Values:
                """Gradients of the gates' sums of x or of h, side by side."""
                names = cell.x_gates if part == "x" else cell.h_gates
                found = [own[f"{g}.{part}" if g in cell.apart else g] for g in names]
                return np.concatenate(found, -1) if found else none

            total[0] += x.T @ gates("x")
            of_gates += outer(given[cell.states[0]], gates("h"), cell.heads)
            total[2] += np.concatenate([own[name] for name in cell.declared_sums], -1).sum(0)
            for place, name in enumerate(cell.vectors):
                total[3 + place] += own[name].sum(0)
            d_x.append(gates("x") @ layer[0].T)
            states = {name: own[name] for name in cell.states}
            flowing = times_transposed(gates("h"), recurrent, cell.heads)
            states[cell.states[0]] = flowing if cell.projected else states[cell.states[0]] + flowing
        d_y = np.array(d_x[::-1])
        found.append(total)
        initial.append(states)
    states = {name: np.array([each[name] for each in initial[::-1]]) for name in cell.states}
    return d_y, states, found[::-1]


def random_layer(
    cell: Cell, inputs: int, hidden: int, random: np.random.Generator, output: int | None = None
) -> list[Values]:
    """Float32 weights of one layer (see runtime.Layer), uniform in +-1 / sqrt(H). output: P, if it is projected."""
    output = output or hidden
    of_x, of_h = len(cell.x_gates) * hidden, cell.columns * hidden // cell.heads
    shapes = [(inputs, of_x), (output, of_h), (len(cell.sums) * hidden,)]
    shapes += [(hidden,)] * len(cell.vectors)
    if cell.projected:
        shapes.append((hidden, output))
    return [(random.uniform(-1, 1, shape) / hidden**0.5).astype(np.float32) for shape in shapes]


def initial_states(
    cell: Cell, depth: int, batch: int, sizes: Mapping[str, int | tuple[int, ...]]
) -> dict[str, Values]:
    """What the states begin with, {name: [depth, B, size]}."""
    shapes = {name: (depth, batch, *np.atleast_1d(sizes[name])) for name in cell.states}
    return {name: np.full(shape, cell.start(name)) for name, shape in shapes.items()}
