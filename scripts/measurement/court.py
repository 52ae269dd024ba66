"""One implementation through the gate over many shapes, in its environment: what `make court` runs.

Reads {"implementation", "tolerance", "cases": [[name, benchmark, phase], ...]} from standard input and prints a line of JSON
[place, status, reason, error] after each case, so that one which ends the process costs no other.
"""

import json
import sys

import numpy as np

from measurement import checking, reference
from measurement.cells import parts
from measurement.reference import relative_error
from measurement.worker import module_of, verdict_of
from measurement.workload import Workload, layer_prefixes

ROUNDING = 1e-5  # of float32, where a case is a fair one
STEPS = 3  # batches of a check


def rounding(workload):
    """The error of a pass in float32, forward and backward, layer by layer in NumPy: of what a cell makes of its shape and weights,
    not of a framework."""
    weights = checking.remembering(workload.weights(), workload.length, workload.cell)
    inputs, cell = next(workload.batches())[0], workload.cell
    with np.errstate(all="ignore"):
        found = [_passes(weights, inputs.astype(kind), cell) for kind in (np.float32, np.float64)]
        return max(relative_error(rough, exact) for rough, exact in zip(*found))


def _passes(weights, x, cell):
    """Outputs, and gradients of weights from the last output, of each layer; in x's type."""
    found = []
    for prefix in layer_prefixes(weights):
        layer = [weights[prefix + part].astype(x.dtype) for part in parts(cell)]
        y, _, tape = reference.layer(cell, x, layer)
        d_y = np.zeros_like(y)
        d_y[-1] = 1.0
        found += [y] + list(reference.layer_gradient(cell, x, layer, tape, d_y)[1:])
        x = y
    return found


def judged(build, benchmark, phase, tolerance):
    """(status, reason, the largest error) of one case."""
    workload = Workload(benchmark, None, 0)
    if not rounding(workload) <= ROUNDING:
        return "left-out", "float32 itself is not precise here", None
    try:
        _, found = checking.check_implementation(
            lambda workload, weights: build(workload, weights, "cpu", phase),
            *(workload, workload.weights(), phase),
            tolerance=tolerance,
            steps=STEPS,
        )
    except Exception as error:
        found = dict(verdict_of(error), errors={})
    errors = [error for error in found["errors"].values() if np.isfinite(error)]
    return found["status"], found["reason"], max(errors) if errors else None


def main():
    asked = json.load(sys.stdin)
    build = module_of(asked["implementation"]).build
    for place, (_, benchmark, phase) in enumerate(asked["cases"]):
        verdict = judged(build, benchmark, phase, asked["tolerance"])
        print(json.dumps((place,) + verdict), flush=True)


if __name__ == "__main__":
    main()
