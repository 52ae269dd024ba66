"""No innermost loop of a kernel that multiplies and adds has a reference to the stack: nothing that it adds up is spilled."""

import pytest

from kernels.workload import cell_name
from measurement.cells import BUILT_IN
from recurrent_cells import cells

from .running import run

CELLS = {name: cells.CELLS[name] for name in map(cell_name, BUILT_IN)}
KINDS = ("avx2", "avx512", "neon")
ALIKE = [name for name, cell in CELLS.items() if not cell.norms]
KERNELS = [
    *(f"{name} rows" for name in CELLS),
    *(f"{name} units" for name in ALIKE),  # others never divide units among cores
    "language model",
]

SPILLED = {
    "avx2": {
        "peephole rows": "backward_first",
        "layer_norm rows": "backward_first, forward_first, main",
    },
    "avx512": {
        "layer_norm rows": "backward_first, forward_first",
        "coupled units": "forward_first, main",
        "language model": "scores",
    },
    "neon": {
        "lstm rows": "gradients_first",
        "coupled rows": "gradients_first",
        "peephole rows": "gradients_first",
        "gru rows": "gradients_first",
        "slstm rows": "gradients_first",
        "layer_norm rows": "backward_first, forward_first, gradients_first, main",
        "coupled units": "forward_first, main",
        "language model": "d_hidden, d_output, gradients_first, gradients_rest",
    },
}
"""Kernels that spill today, and in which functions."""
CASES = [
    pytest.param(
        kind,
        kernel,
        marks=pytest.mark.xfail(strict=True, reason=f"spills in {SPILLED[kind][kernel]}")
        if kernel in SPILLED.get(kind, {})
        else (),
    )
    for kind in KINDS
    for kernel in KERNELS
]


def processes(**_: object) -> list[tuple[str, ...]]:
    return [("tvm", "run_machine_code.py", kind) for kind in KINDS]


@pytest.mark.parametrize(("kind", "kernel"), CASES)
def test_innermost_loops_leave_the_stack_alone(kind: str, kernel: str) -> None:
    counts = run("tvm", "run_machine_code.py", kind)[kernel]
    assert sum(loops for loops, _ in counts.values()) > 0
    assert {name: spilled for name, (_, spilled) in counts.items() if spilled} == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_tile_of_more_sums_than_registers_is_seen(kind: str) -> None:
    assert run("tvm", "run_machine_code.py", kind)["spilling"]["main"][1] > 0
