"""Rows that need a GPU keep the contract as far as a CPU tells; see on_cpu.py."""

import json
import shutil

import pytest

from tests import tiny

from .running import GATE, run

WIDE = {"hidden": 16, "batch": 5}  # more than one block of a kernel, and not all of them full
HERE = "tests.contract.on_cpu:"
CARRIED = json.dumps(WIDE | tiny.CARRIED)
CASES = {
    "pytorch": [
        *("fine_grained_graph", f"fine_grained_graph {json.dumps({'cell': 'slstm'})}"),
        *("cell_graph", f"cell_graph {json.dumps(tiny.CARRIED)}"),
        *(("persistent_kernel", f"persistent_kernel {CARRIED}") if shutil.which("g++") else ()),
    ],
    "flashrnn": [
        *("triton", "triton_graph", f"triton {json.dumps(WIDE)}", "triton one-way"),
        *("flashrnn", f"flashrnn {CARRIED}"),
    ],
}


def processes(**_: object) -> list[tuple[str, ...]]:
    return [
        *((where, GATE, *(HERE + name for name in names)) for where, names in CASES.items()),
        ("pytorch", "run_on_pretended_cuda.py"),
        ("flashrnn", "run_triton.py"),
    ]


@pytest.mark.parametrize("environment", CASES)
def test_rows_for_gpus(environment: str) -> None:
    for name, phases in run(
        environment, GATE, *(HERE + name for name in CASES[environment])
    ).items():
        for phase, found in phases.items():
            assert found["status"] == "ok", (name, phase, found["reason"])
            assert max(found["errors"].values()) < 1e-5, (name, phase)


def test_where_the_time_of_a_batch_goes() -> None:
    """Neither annotations nor what runs on the host is a kernel; where no profiler tells, nothing is made up."""
    told, nothing, failed, first = run("pytorch", "run_on_pretended_cuda.py")["times"]
    assert told == {"launched_s": True, "span_s": 0.02, "kernel_s": 0.004, "kernels": 2}
    assert nothing == failed == told | {"kernel_s": None, "kernels": None}
    assert first == ["wait", "record", "step", "record", "wait"]


def test_a_graph_is_captured_after_warming_up_beside() -> None:
    """Of the state that there was before; batches are fed outside, and replayed ones compute nothing on the host."""
    found = run("pytorch", "run_on_pretended_cuda.py")["graph"]
    assert found["untouched"] == [True]
    assert found["events"] == [
        *("wait", "aside", "step", "step", "step", "end", "wait", "capture", "step", "end"),
        *("feed", "replay", "feed", "replay"),
    ]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("kernel", ["forward_step", "backward_step"])
def test_tritons_kernels_compile_and_round_nothing(kernel: str, architecture: str) -> None:
    """With the assembler that Triton brings; its own default would multiply in TF32."""
    found = run("flashrnn", "run_triton.py")[kernel][architecture]
    assert found["bytes"] > 1000 and found["rounded"] == []
