"""Rows held to an instruction set agree with the reference and keep to it; one that does not is found out."""

import functools
import json

import pytest

from measurement import machine
from plan import matrix

from .running import run

HELD = json.dumps({"isa": "avx2"})
ROWS = sorted({c for c in matrix.cells_of("stacked-lm") if c.benchmark == "avx2-stacked-lm"})
CASES = sorted({(c.environment, c.implementation) for c in ROWS if c.environment != "tvm"})
# Without a switch: its kernels are chosen by what the processor has.
WITHOUT = {"onnxruntime/lstm"}
HIDES = "avx512f" in machine.cpu_flags()

pytestmark = pytest.mark.skipif("avx2" not in machine.cpu_flags(), reason="the CPU has no AVX2")


@functools.cache
def verdicts(environment: str) -> dict:
    names = [f"{name} {HELD}" for where, name in CASES if where == environment]
    return run(environment, "run_contract.py", *names, isa="avx2")


@pytest.mark.parametrize(("environment", "implementation"), CASES)
def test_held_rows(environment: str, implementation: str) -> None:
    for phase, found in verdicts(environment)[f"{implementation} {HELD}"].items():
        if phase not in matrix.implementation(implementation).get("phases", matrix.PHASES):
            continue
        if implementation in WITHOUT and HIDES:
            assert found["status"] == "unsupported" and "AVX-512 all the same" in found["reason"]
            continue
        assert found["status"] == "ok", (phase, found["reason"])
        assert max(found["errors"].values()) < 2e-5, phase
