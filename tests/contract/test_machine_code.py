"""No innermost loop of a kernel that multiplies and adds has a reference to the stack: nothing that it adds up is spilled."""

import pytest

from .running import run

# Most where there are fewest registers. Not those that spill today: with AVX2 layer_norm, and peephole by rows; with AVX-512 and NEON
# the language model, layer_norm, and coupled by units; with NEON the LSTM by rows.
KERNELS = {
    "avx2": [
        *(
            f"{cell} {divided}"
            for cell in ("lstm", "gru", "slstm")
            for divided in ("rows", "units")
        ),
        "language model",
    ],
    "avx512": ["lstm rows", "lstm units"],
    "neon": ["lstm units"],
}


def processes(**_: object) -> list[tuple[str, ...]]:
    asked = [f"{kind} {kernel}" for kind in KERNELS for kernel in KERNELS[kind]]
    return [("tvm", "run_machine_code.py", *asked, "avx2 spilling", "neon spilling")]


def counts() -> dict[str, dict[str, list[int]]]:
    (process,) = processes()
    return run(*process)


def test_innermost_loops_leave_the_stack_alone() -> None:
    for kernel, functions in counts().items():
        if "spilling" not in kernel:
            assert sum(loops for loops, _ in functions.values()) > 0, kernel
            assert {name: spilled for name, (_, spilled) in functions.items() if spilled} == {}, (
                kernel
            )


@pytest.mark.parametrize("kind", ["avx2", "neon"])
def test_a_tile_of_more_sums_than_registers_is_seen(kind: str) -> None:
    assert counts()[f"{kind} spilling"]["main"][1] > 0
