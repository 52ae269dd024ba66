"""No innermost loop of a kernel that multiplies and adds has a reference to the stack: nothing that it adds up is spilled.

For AVX2, which has the fewest registers; tests/unit/test_kernel_target.py has the tiles of each kind of CPU."""

from .running import run

# Not those that spill today: layer_norm, and peephole by rows.
KERNELS = [
    *(f"{cell} {divided}" for cell in ("lstm", "gru", "slstm") for divided in ("rows", "units")),
    "language model",
]


def processes(**_: object) -> list[tuple[str, ...]]:
    return [("tvm", "run_machine_code.py", *KERNELS, "spilling")]


def counts() -> dict[str, dict[str, list[int]]]:
    (process,) = processes()
    return run(*process)


def test_innermost_loops_leave_the_stack_alone() -> None:
    found = counts()
    for kernel in KERNELS:
        assert sum(loops for loops, _ in found[kernel].values()) > 0, kernel
        assert {name: n for name, (_, n) in found[kernel].items() if n} == {}, kernel


def test_a_tile_of_more_sums_than_registers_is_seen() -> None:
    assert counts()["spilling"]["main"][1] > 0
