"""Rows that need a GPU keep the contract as far as a CPU tells; see on_cpu.py."""

import json
import shutil

import pytest

from tests import tiny

from .running import run

WIDE = {"hidden": 16, "batch": 5}  # more than one block of a kernel, and not all of them full
HERE = "tests.contract.on_cpu:"
CASES = {
    "pytorch": ["fine_grained_graph", "cell_graph", f"cell_graph {json.dumps(tiny.CARRIED)}"],
    "flashrnn": [
        *("triton", "triton_graph", f"triton {json.dumps(WIDE)}", "triton one-way"),
        *("flashrnn", f"flashrnn {json.dumps(WIDE | tiny.CARRIED)}"),
    ],
}
PERSISTENT = ["", json.dumps(WIDE), json.dumps(WIDE | tiny.CARRIED)]


def require_right(environment: str, names: list[str]) -> None:
    for name, phases in run(environment, "run_contract.py", *names).items():
        for phase, found in phases.items():
            assert found["status"] == "ok", (name, phase, found["reason"])
            assert max(found["errors"].values()) < 1e-5, (name, phase)


@pytest.mark.parametrize("environment", CASES)
def test_rows_for_gpus(environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    require_right(environment, [HERE + name for name in CASES[environment]])


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++ to compile the kernel for a CPU with")
def test_persistent_kernel() -> None:
    require_right("pytorch", [f"{HERE}persistent_kernel {change}".strip() for change in PERSISTENT])


def test_weights_that_warming_up_has_changed_close_the_gate() -> None:
    name = f"{HERE}warmed_up"
    found = run("pytorch", "run_contract.py", name)[name]
    assert found["training"]["status"] == "incorrect"
