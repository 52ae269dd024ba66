"""Check implementations at a small batch, then time and verify them at a larger one; print verdicts as JSON.

    python run_verified.py IMPLEMENTATION ...

IMPLEMENTATION as in run_contract.py. Python 3.6 syntax.
"""

import itertools
import json
import sys
import tempfile

from measurement import checking, timing, verifying
from tests import tiny
from tests.contract.run_contract import builder

BATCH = 12  # at +-0.1, so small a model hardly depends on its input
TIMED = 3


def verdicts(implementation, phase, folder):
    """{"check": verdict, "verified": verdict}"""
    build = builder(implementation)

    def built(workload, weights):
        return build(workload, weights, "cpu", phase)

    workload = tiny.workload(folder, batch=BATCH, weight_range=0.5)
    weights = workload.weights()
    small = workload.changed(batch=4)
    _, found = checking.check_implementation(built, small, weights, phase, 1e-4, steps=1)
    runner = built(workload, weights)
    for batch in itertools.islice(workload.batches(), TIMED):
        timing.sample(runner, batch)
    return {"check": found, "verified": verifying.verify(runner, workload, weights, phase)}


def main():
    with tempfile.TemporaryDirectory() as folder:
        tiny.write_corpus(folder)
        found = {
            name: {phase: verdicts(name, phase, folder) for phase in ("forward", "training")}
            for name in sys.argv[1:]
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
