"""A second witness for a reference that was generated: its gradients against central differences of its own steps.

A wrong rule of the derivative makes a wrong gradient of the reference and, where kernels come of the same rules, the same wrong
one of theirs: they would agree. Differences of the function know no rules.
"""

import numpy as np

from measurement.cells import CELLS, state_shapes
from measurement.reference import _parts, _sums, divided
from measurement.steps import STEPS
from measurement.workload import layer_prefixes

STEP = 1e-6  # of values around 1: what it cuts off is 1e-12 of them, what float64 rounds 1e-10
KINK = 1e-3  # slopes of a smooth function on two sides differ by about STEP
ROWS, STEPS_GONE = 4, 3
TOLERANCE = 1e-6  # a wrong rule is off by tenths


def _between(ahead, behind):
    """The least and the most that a derivative may be, summed, of the slopes on its two sides: their mean, or all between
    them where there is a kink, as in relu at 0."""
    kink = np.abs(ahead - behind) > KINK
    middle = np.where(kink, 0.0, 0.5 * (ahead + behind)).sum()
    ends = np.minimum(ahead, behind)[kink].sum(), np.maximum(ahead, behind)[kink].sum()
    return middle + ends[0], middle + ends[1]


def _flat(changes):
    """Their sum over all states, [B, H]."""
    return sum(each if each.ndim == 2 else each.sum(2) for each in changes)


def errors(weights, inputs, cell):
    """{"reference:<input>": error} of the gradient of a step of the first layer, by every sum, vector, matrix and state: along one
    direction drawn at random each, for one drawn combination of the new states.

    weights: float64, by name; inputs: dense [T, B, D] or tokens [T, B], of which a few rows and steps are gone through first, so
    that values are such as occur.
    """
    kind, (step, gradient) = CELLS[cell], STEPS[cell]
    random = np.random.RandomState(0)
    x = weights["embedding"][inputs] if "embedding" in weights else np.asarray(inputs, np.float64)
    layer = _parts(weights, layer_prefixes(weights)[0], cell)
    w_input, w_recurrent, bias = layer[:3]
    hidden = len(w_recurrent)
    w_recurrent, vectors = divided(kind, w_recurrent, layer)
    x = x[:STEPS_GONE, :ROWS]
    shapes = state_shapes(kind, x.shape[1], hidden)
    states = tuple(np.full(shape, start) for shape, start in zip(shapes, kind.starts))
    worst = {}
    for x_t in x:
        sums = _sums(kind, x_t @ w_input, states[0] @ w_recurrent, bias.reshape(-1, hidden))
        given = {"sum": list(sums), "vector": list(vectors), "state": list(states)}
        names = {"sum": kind.biases, "vector": kind.vectors + kind.matrices, "state": kind.states}
        new, tape = step(tuple(sums), vectors, states)
        d_new = [random.uniform(-1, 1, shape) for shape in shapes]
        found = dict(zip(("sum", "vector", "state"), gradient(tape, *d_new)))
        for part, values in given.items():
            for place, value in enumerate(values):
                along = random.uniform(-1, 1, value.shape)
                slopes = []
                for sign in (1.0, -1.0):
                    values[place] = value + sign * STEP * along
                    moved, _ = step(*(tuple(given[each]) for each in ("sum", "vector", "state")))
                    slopes.append(
                        _flat(sign * d * (one - at) for d, one, at in zip(d_new, moved, new)) / STEP
                    )
                values[place] = value
                least, most = _between(*slopes)
                told = np.broadcast_to(found[part][place], value.shape)
                size = np.abs(told * along).sum() + 1.0
                derived = (told * along).sum()
                error = max(least - derived, derived - most) / size
                name = "reference:%s %s" % (part, names[part][place])
                error = error if np.isfinite(error) else np.inf
                worst[name] = max(worst.get(name, 0.0), float(error))
        states = new
    return worst
