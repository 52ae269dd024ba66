"""Check every implementation of an environment at a tiny shape, in that environment; print verdicts.

    python run_contract.py [--device=gpu] IMPLEMENTATION ...

An implementation is one of config/implementations.yaml, or a module of this folder with an error planted, which may
have several (`module:builder`); after a space there may be changes to the benchmark, as JSON or `carried`, or instead of it one of tiny.CLASSIFIERS, or bare layers,
or `built:VARIANT`, bare layers whose kernel is tuned and built first, with changes to these as JSON; or `verified`, what is
said after timing.
Python 3.6 syntax, like everything that runs in environments. One process serves all implementations of
an environment, because importing TensorFlow takes longer than all its checks.
"""

import importlib
import itertools
import json
import sys
import tempfile
import traceback

from measurement import checking, precision, timing, verifying
from measurement.worker import module_of, ran_as_asked, verdict_of
from tests import tiny

BARE = "bare"  # layers without embedding, projection and loss
BUILT, TRIALS = "built:", 8
VERIFIED, TIMED = "verified", 3


def builder(implementation):
    """The `build` of `pytorch/cell`, or of `tests.contract.planted_jax`; `skipped` of `tests.contract.planted_pytorch:skipped`."""
    if "/" in implementation:
        return module_of(implementation).build
    module, _, name = implementation.partition(":")
    return getattr(importlib.import_module(module), name or "build")


def built(told, folder):
    """Bare layers with a kernel by a variant of TVM's; told: its name, and changes to the layers."""
    from pathlib import Path

    from kernels.variants import target_of, variant_named
    from kernels.workload import spec_of

    variant, _, changes = told.partition(" ")
    sizes = dict({"features": 16, "hidden": 32, "batch": 8}, **json.loads(changes or "{}"))
    workload, module = tiny.bare_layers(**sizes), variant_named(variant)
    spec, target, kernel = spec_of(workload), target_of(variant, 1), Path(folder, variant)
    if hasattr(module, "tune"):
        module.tune(spec.tuned, target, TRIALS, kernel / "database")
    module.build(spec, target, kernel, kernel / "database", None)
    return workload.changed(kernel=str(kernel))


def workload_of(changes, folder):
    """The workload that stands after an implementation's name."""
    if changes == BARE:
        return tiny.bare_layers()
    if changes.startswith(BUILT):
        return built(changes[len(BUILT) :], folder)
    if changes in tiny.CLASSIFIERS:
        return tiny.classifier(changes)
    changes = tiny.CARRIED if changes == "carried" else json.loads(changes or "{}")
    return tiny.workload(folder, **changes)


def verified(build, phase, folder):
    """What is said of an implementation after its last timed batch."""
    # At +-0.1, so small a model hardly depends on its input.
    workload = tiny.workload(folder, batch=12, weight_range=0.5)
    weights = workload.weights()
    runner = build(workload, weights, "cpu", phase)
    for batch in itertools.islice(workload.batches(), TIMED):
        timing.sample(runner, batch)
    return verifying.verify(runner, workload, weights, phase)


def verdict(implementation, phase, folder, device):
    """{"status", "reason", "errors"} of one implementation at the tiny shape."""
    implementation, _, changes = implementation.partition(" ")
    try:
        if changes == VERIFIED:
            return verified(builder(implementation), phase, folder)
        workload = workload_of(changes, folder)
        weights = workload.weights()
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
        runner.synchronise()
        found.update(ran_as_asked(runner, workload))
    except Exception as error:
        found = verdict_of(error)
        return dict(found, reason=traceback.format_exc()) if found["status"] == "failed" else found
    return dict(found, facts=runner.describe(), device_peak_bytes=runner.device_peak_bytes())


def phases(implementation):
    """Bare layers have no loss, int8 has no gradients. Document 003 trains its classifiers only; a planted error has to pass forward, too."""
    if (
        implementation.endswith(" " + BARE)
        or " " + BUILT in implementation
        or '"int8"' in implementation
    ):
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
