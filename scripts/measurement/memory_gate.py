"""Which bias or vector makes a cell remember, where nobody says so, as of one that somebody wrote: found by trying.

A check has to see every step of a sequence (checking.remembering). Of a small layer each bias and vector is shifted, up and
down; the one counts by which the first step changes the last output most, of those that leave float32 as precise as a check
wants it. None is a finding too: what has no gate for it forgets whatever its biases are.
"""

import functools

import numpy as np

from measurement import reference
from measurement.cells import CELLS, parts
from measurement.workload import Workload

SIZES = {"features": 3, "hidden": 4, "layers": 1, "batch": 2}
PRECISE = 1e-5  # relative error of float32, a tenth of what a check lets pass
WORTH = 2.0  # how often more has to be left of the first step than without a shift


@functools.lru_cache(maxsize=None)
def shifts(cell, length):
    """{name of a bias or vector: what is added to it}, of one or none."""
    kind = CELLS[cell]
    found, most = {}, WORTH * left(cell, length, {})
    for name in tuple(kind.biases) + tuple(kind.vectors):
        for sign in (1.0, -1.0):
            tried = {name: sign * (np.log(length) + 1.0)}
            kept = left(cell, length, tried)
            if kept > most:
                found, most = tried, kept
    return found


def left(cell, length, shifted):
    """How much the first step changes the last output, of the largest change of any output; 0 where float32 is imprecise."""
    kind = CELLS[cell]
    workload = Workload(dict(SIZES, length=length, cell=cell), None, 0)
    weights = workload.weights()
    layer = [weights["lstm.0." + part].astype(np.float64) for part in parts(cell)]
    for part, names in ((2, kind.biases), (3, kind.vectors)):
        for place, name in enumerate(names):
            first = place * workload.hidden
            layer[part][first : first + workload.hidden] += shifted.get(name, 0.0)
    x = np.random.RandomState(0).uniform(-1, 1, (length, workload.batch, workload.features))
    other = x.copy()
    other[0] *= -1.0
    with np.errstate(all="ignore"):
        y, found = _run(cell, x, layer, np.float64)
        changed = np.abs(_run(cell, other, layer, np.float64)[0] - y)
        single, rough = _run(cell, x, layer, np.float32)
        pairs = [(single, y)] + list(zip(rough, found))
        precise = all(reference.relative_error(a, b) < PRECISE for a, b in pairs)
    largest = changed.max()
    return float(changed[-1].max() / largest) if precise and largest > 0 else 0.0


def _run(cell, x, layer, kind):
    """Outputs [T, B, H], and gradients of the weights from the last one."""
    x, layer = x.astype(kind), [each.astype(kind) for each in layer]
    y, _, tape = reference.layer(cell, x, layer)
    d_y = np.zeros_like(y)
    d_y[-1] = 1.0
    return y, reference.layer_gradient(cell, x, layer, tape, d_y)[1:]
