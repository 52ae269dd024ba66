"""No innermost loop of a kernel that multiplies and adds has a reference to the stack: nothing that it adds up is spilled."""

import pytest

from kernels.workload import cell_name
from measurement.cells import BUILT_IN
from recurrent_cells import cells

from .running import run

CELLS = {name: cells.CELLS[name] for name in map(cell_name, BUILT_IN)}
# Every cell where there are fewest registers. (Elsewhere layer_norm, coupled by units and NEON's gradients spill today.)
KINDS = {"avx2": [*CELLS], "avx512": ["lstm", "slstm"], "neon": ["lstm"]}
SPILLED = {
    "avx2": {
        "peephole rows": "backward_first",
        "layer_norm rows": "backward_first, forward_first, main",
    },
    "avx512": {"language model": "scores"},
    "neon": {
        "lstm rows": "gradients_first",
        "language model": "d_hidden, d_output, gradients_first, gradients_rest",
    },
}
"""Kernels that spill today, and in which functions."""
CASES = [
    pytest.param(
        kind,
        kernel,
        marks=pytest.mark.xfail(strict=True, reason=f"spills in {SPILLED[kind][kernel]}")
        if kernel in SPILLED[kind]
        else (),
    )
    for kind, names in KINDS.items()
    for kernel in (
        *(f"{name} rows" for name in names),
        *(f"{name} units" for name in names if not CELLS[name].norms),  # which divide rows always
        "language model",
    )
]


def processes(**_: object) -> list[tuple[str, ...]]:
    return [("tvm", "run_machine_code.py", kind, *names) for kind, names in KINDS.items()]


def found(kind: str) -> dict:
    return run("tvm", "run_machine_code.py", kind, *KINDS[kind])


@pytest.mark.parametrize(("kind", "kernel"), CASES)
def test_innermost_loops_leave_the_stack_alone(kind: str, kernel: str) -> None:
    counts = found(kind)[kernel]
    assert sum(loops for loops, _ in counts.values()) > 0
    assert {name: spilled for name, (_, spilled) in counts.items() if spilled} == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_tile_of_more_sums_than_registers_is_seen(kind: str) -> None:
    assert found(kind)["spilling"]["main"][1] > 0
