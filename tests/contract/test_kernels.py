"""The kernels agree with the reference at shapes that fit no vector, tile or thread count."""

import functools
import json
import os
import subprocess

from tests.contract.test_implementations import interpreter


@functools.cache
def found() -> dict:
    done = subprocess.run(
        [interpreter("tvm"), "tests/contract/run_kernels.py"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": "scripts:."},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_shape_and_schedule_agrees_with_the_reference() -> None:
    errors = {name: e for name, e in found().items() if name not in ("tuning", "cuda")}
    assert len(errors) == 6 * 4 + 1 + 3 + 4
    assert {name: error for name, error in errors.items() if not error < 1e-5} == {}


def test_gpu_kernels_compile_without_a_gpu() -> None:
    """Projections of two input sizes, the recurrence, c and h."""
    assert found()["cuda"] >= 5


def test_tuning_goes_on_from_its_database() -> None:
    """[new trials, trials in the database] of each search; a damaged database is begun anew."""
    assert found()["tuning"] == {
        "first": [4, 4],
        "more": [2, 6],
        "again": [0, 6],
        "damaged": [2, 2],
    }
