"""Rows held to an instruction set agree with the reference and keep to it. tests/unit/test_instructions.py has what does not."""

import json

import pytest

from measurement import machine

from .running import GATE, run

HELD = json.dumps({"isa": "avx2"})
# The others may use more, by a compiler or a runtime that has no switch; then they are refused.
KEEPING = [
    *(("pytorch", f"pytorch/{style}") for style in ("fine-grained", "cell", "fused")),
    *(("tensorflow", f"tensorflow/graph-{style}") for style in ("unrolled", "while", "block")),
]

pytestmark = pytest.mark.skipif("avx2" not in machine.cpu_flags(), reason="the CPU has no AVX2")


def processes(environment: str, implementation: str) -> list[tuple[str, ...]]:
    """One an environment: what one row leaves in registers is seen in the next one's."""
    there = "avx2" in machine.cpu_flags()
    return [(environment, GATE, f"{implementation} {HELD}")] if there else []


@pytest.mark.parametrize(("environment", "implementation"), KEEPING)
def test_held_rows_keep_to_it(environment: str, implementation: str) -> None:
    (process,) = processes(environment, implementation)
    (phases,) = run(*process).values()
    for phase, found in phases.items():
        assert found["status"] == "ok", (phase, found["reason"])
        assert max(found["errors"].values()) < 2e-5, phase
