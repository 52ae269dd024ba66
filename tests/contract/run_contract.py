"""Check every implementation of an environment at a tiny shape, in that environment; print verdicts.

    python run_contract.py [--device=gpu] IMPLEMENTATION ...

An implementation is one of config/implementations.yaml, or a module of this folder with an error planted, which may
have several (`module:builder`); after a space there may be changes to the benchmark, as JSON, or instead of it one of tiny.CLASSIFIERS or bare layers.
Python 3.6 syntax, like everything that runs in environments. One process serves all implementations of
an environment, because importing TensorFlow takes longer than all its checks.
"""

import importlib
import json
import sys
import tempfile
import traceback

from implementations.contract import Unsupported
from measurement import checking, precision
from measurement.worker import module_of
from tests import tiny

BARE = "bare"  # layers without embedding, projection and loss


def builder(implementation):
    """The `build` of `pytorch/cell`, or of `tests.contract.planted_pytorch`; `skipped` of
    `tests.contract.lost_steps_pytorch:skipped`."""
    if "/" in implementation:
        return module_of(implementation).build
    module, _, name = implementation.partition(":")
    return getattr(importlib.import_module(module), name or "build")


def verdict(implementation, phase, folder, device):
    """{"status", "reason", "errors"} of one implementation at the tiny shape."""
    implementation, _, changes = implementation.partition(" ")
    if changes == BARE:
        workload = tiny.bare_layers()
    elif changes in tiny.CLASSIFIERS:
        workload = tiny.classifier(changes)
    else:
        workload = tiny.workload(folder, **json.loads(changes or "{}"))
    weights = workload.weights()
    try:
        build = builder(implementation)
        runner, found = checking.check_implementation(
            lambda workload, weights: build(workload, weights, device, phase),
            *(workload, weights, phase),
            tolerance=max(
                1e-4,
                precision.tolerance(workload.data_type, phase, workload.layers, workload.length),
            ),
            steps=4,
        )
    except Unsupported as error:
        return {"status": "unsupported", "reason": str(error)}
    except Exception:
        return {"status": "failed", "reason": traceback.format_exc()}
    runner.synchronise()
    if workload.data_type != precision.FLOAT32:
        found["precision"] = runner.precision(*runner.laid_out(*next(workload.batches())))
        refused = precision.refusal(found["precision"])
        if refused:
            return {"status": "unsupported", "reason": refused}
    return dict(found, facts=runner.describe(), device_peak_bytes=runner.device_peak_bytes())


def phases(implementation):
    """Bare layers have no loss. Document 003 trains its classifiers only; a planted error has to pass forward, too."""
    if implementation.endswith(" " + BARE):
        return ("forward",)
    trained = implementation.split()[-1] in tiny.CLASSIFIERS and "/" in implementation
    return ("training",) if trained else ("forward", "training")


def main():
    names, device = sys.argv[1:], "cpu"
    if names[0].startswith("--device="):
        device = names.pop(0).partition("=")[2]
    with tempfile.TemporaryDirectory() as folder:
        tiny.write_corpus(folder)
        verdicts = {
            implementation: {
                phase: verdict(implementation, phase, folder, device)
                for phase in phases(implementation)
            }
            for implementation in names
        }
    print(json.dumps(verdicts))


if __name__ == "__main__":
    main()
