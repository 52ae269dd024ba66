"""Check TVM's template with every cell but the LSTM (run_kernels.py), in both phases; print verdicts.

As run_contract.py, but kernels are built first.
"""

import json
import sys
import tempfile
from pathlib import Path

from kernels.runtime import set_threads

THREADS = 2
MODELS = ("gru", "peephole")  # a product kept apart, and vectors; the others are classifiers
set_threads(THREADS)

from implementations.tvm import template_tuned  # noqa: E402
from kernels.build import build_template  # noqa: E402
from kernels.search.space import default_schedule  # noqa: E402
from kernels.target import cpu_target  # noqa: E402
from kernels.workload import spec_of  # noqa: E402
from measurement import checking  # noqa: E402
from measurement.cells import CELLS  # noqa: E402
from tests import tiny  # noqa: E402


def verdict(workload, phase):
    """What the gate says of a workload whose kernel is built."""
    return checking.check_implementation(
        lambda workload, weights: template_tuned.build(workload, weights, "cpu", phase),
        *(workload, workload.weights(), phase),
        tolerance=1e-4,
        steps=3,
    )[1]


def main() -> None:
    found, target = {}, cpu_target(THREADS)
    with tempfile.TemporaryDirectory() as name:
        tiny.write_corpus(name)
        for cell in CELLS:
            sizes = {"threads": THREADS, "cell": cell, "hidden": 16}
            if cell == "lstm":
                continue
            if cell in MODELS:
                work = tiny.workload(name, embedding=16, **sizes)
            else:
                work = tiny.classifier("one-way", **sizes)
            work.kernel, spec = str(Path(name, cell)), spec_of(work)
            surroundings = (work.vocabulary, None if work.vocabulary else work.outputs)
            schedule = default_schedule(spec, target)
            build_template(spec, schedule, target, Path(work.kernel), *surroundings)
            for phase in ("forward", "training"):
                found[f"{cell} {phase}"] = verdict(work, phase)
    print(json.dumps(found))


if __name__ == "__main__":
    sys.exit(main())
