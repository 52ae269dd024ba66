"""Two workers train as one does, and none outlives the one that started it."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from plan import matrix
from tests import tiny
from tests.conftest import alive

from .running import interpreter, run
from .test_implementations import within_rounding

ROWS = [
    (environment, entry["implementation"])
    for entry in matrix.implementations()
    for environment in entry["environments"]
    if "workers" in entry
]
EVEN = tiny.CARRIED | {"batch": 4}
# A runner that has made a step, and the process that it has started.
STARTED = """
import sys, tempfile, time
from implementations.pytorch import data_parallel
from tests import tiny

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        tiny.write_corpus(folder)
        workload = tiny.workload(folder, **dict(tiny.CARRIED, batch=4))
        batch = next(workload.batches())
        runner = data_parallel.build(workload, workload.weights(), "cpu", "training")
        runner.reset()
        runner.step(*batch)
        runner.synchronise()
        print(*runner.helpers(), flush=True)
        if sys.argv[1] == "wait":
            time.sleep(300)
        if sys.argv[1] == "step":
            while True:
                runner.step(*batch)
"""


def processes(environment: str = "", implementation: str = "", **_: object) -> list[tuple]:
    """What the test of a row asks for."""
    cases = [f"{implementation} {json.dumps(changes)}" for changes in (EVEN, tiny.CARRIED)]
    return [(environment, "run_contract.py", *cases)] if implementation else []


@pytest.mark.parametrize(("environment", "implementation"), ROWS)
def test_two_workers_train_as_one_does(environment: str, implementation: str) -> None:
    """Loss, gradients and updates of the joined batch are the reference's, over batches that carry a state."""
    (process,) = processes(environment, implementation)
    even, odd = run(*process).values()
    assert even["training"]["status"] == "ok", even["training"]["reason"]
    assert within_rounding(even["training"]["errors"])
    assert even["training"]["facts"]["settings"]["workers"] == 2
    assert odd["training"]["status"] == even["forward"]["status"] == "unsupported"
    assert "a batch of 3 evenly" in odd["training"]["reason"]


def test_worker_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    """Which is killed while it waits, killed in a step, or comes to its end."""
    script = tmp_path / "started.py"
    script.write_text(STARTED)
    environment = {**os.environ, "PYTHONPATH": "scripts:.", "OMP_NUM_THREADS": "1"}
    command, given = (
        [interpreter("pytorch"), str(script)],
        {"stdout": subprocess.PIPE, "text": True},
    )
    parents = {
        until: subprocess.Popen([*command, until], env=environment, **given)
        for until in ("wait", "step", "end")
    }
    for until, parent in parents.items():
        with parent:
            worker = int(parent.stdout.readline())
            if until != "end":
                assert alive(worker)
                parent.send_signal(signal.SIGKILL)
            parent.wait(300)
        assert parent.returncode == (0 if until == "end" else -signal.SIGKILL), until
        deadline = time.time() + 120
        while alive(worker) and time.time() < deadline:
            time.sleep(0.1)
        assert not alive(worker), until
