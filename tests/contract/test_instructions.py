"""Rows held to an instruction set agree with the reference and keep to it; one that does not is found out."""

import functools
import json

import pytest

from measurement import machine
from plan import matrix

from .running import run

HELD = json.dumps({"isa": "avx2"})
ROWS = {cell for cell in matrix.cells_of("stacked-lm") if cell.benchmark == "avx2-stacked-lm"}
CASES = sorted(
    {(cell.environment, cell.implementation) for cell in ROWS} - {("tvm", "tvm/fma-peak")}
)
# The others may use more, by a compiler or a runtime that has no switch; then they are refused.
KEEPING = {
    *("pytorch/fine-grained", "pytorch/cell", "pytorch/fused"),
    *("tensorflow/graph-unrolled", "tensorflow/graph-while", "tensorflow/graph-block"),
}

pytestmark = pytest.mark.skipif("avx2" not in machine.cpu_flags(), reason="the CPU has no AVX2")


@functools.cache
def verdicts(environment: str, keeping: bool) -> dict:
    """Of one process: what one row leaves in registers is seen in the next one's."""
    names = [name for where, name in CASES if where == environment]
    names = [f"{name} {HELD}" for name in names if (name in KEEPING) == keeping]
    return run(environment, "run_contract.py", *names, isa="avx2")


@pytest.mark.parametrize(
    ("environment", "implementation"), [case for case in CASES if case[0] != "tvm"]
)
def test_held_rows_keep_to_it_or_are_refused(environment: str, implementation: str) -> None:
    keeping = implementation in KEEPING
    for phase, found in verdicts(environment, keeping)[f"{implementation} {HELD}"].items():
        if phase not in matrix.implementation(implementation).get("phases", matrix.PHASES):
            continue
        if found["status"] == "unsupported" and not keeping:
            assert "uses AVX-512" in found["reason"] or "needs Linux" in found["reason"]
            continue
        assert found["status"] == "ok", (phase, found["reason"])
        assert max(found["errors"].values()) < 2e-5, phase
