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
KINDS = (np.float32, np.float64)


def rounding(workload):
    """The error of float32 itself, by NumPy: of outputs, and of gradients of the loss, as the check compares them."""
    weights = checking.remembering(workload.weights(), workload.length, workload.cell)
    inputs, targets = next(workload.batches())
    exact = reference.float64(weights)
    with np.errstate(all="ignore"):
        scores = reference.output(exact, inputs, workload.loss, cell=workload.cell)
        d_scores = reference.cross_entropy(scores, targets)[1]
        d_h = d_scores @ exact["projection.weight"].T
        rough, right = (_passes(weights, inputs, d_h, workload, kind) for kind in KINDS)
    errors = [relative_error(rough.pop("output"), right.pop("output"))]
    errors += [
        checking.gradient_error(name, rough[name], right[name], checking.width(name, workload))
        for name in right
    ]
    return max(errors)


def _passes(weights, x, d_h, workload, kind):
    """The last output, and the gradients of the layers' weights from that of it, in floating-point numbers of a kind."""
    x, layers = x.astype(kind), []
    for prefix in layer_prefixes(weights):
        layer = [weights[prefix + part].astype(kind) for part in parts(workload.cell)]
        y, _, tape = reference.layer(workload.cell, x, layer)
        layers.append((prefix, x, layer, tape))
        x = y
    found, d_y = {"output": x[-1]}, np.zeros_like(x)
    d_y[-1] = d_h
    for prefix, x, layer, tape in reversed(layers):
        d_y, *own = reference.layer_gradient(workload.cell, x, layer, tape, d_y)
        found.update(zip([prefix + part for part in parts(workload.cell)], own))
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
