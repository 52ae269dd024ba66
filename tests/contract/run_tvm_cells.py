"""Check TVM's template with every cell, as a classifier in both phases and as a trained language model; print verdicts.

As run_contract.py, but kernels are built first.
"""

import json
import sys
import tempfile
from pathlib import Path

from kernels.runtime import set_threads

THREADS = 2
MODELS = ("gru", "peephole")  # a product kept apart, and vectors
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
            sizes = {"cell": cell, "hidden": 16, "embedding": 16}
            one_way = tiny.classifier("one-way", threads=THREADS, cell=cell, hidden=16)
            works = {"classifier": one_way}
            if cell in MODELS:
                works["language model"] = tiny.workload(name, threads=THREADS, **sizes)
            for kind, work in works.items():
                work.kernel, spec = str(Path(name, cell, kind)), spec_of(work)
                surroundings = (work.vocabulary, None if work.vocabulary else work.outputs)
                schedule = default_schedule(spec, target)
                build_template(spec, schedule, target, Path(work.kernel), *surroundings)
                for phase in ("forward", "training"):
                    found[f"{cell} {kind} {phase}"] = verdict(work, phase)
    print(json.dumps(found))


if __name__ == "__main__":
    sys.exit(main())
