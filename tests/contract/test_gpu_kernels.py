"""TVM's kernels for GPUs, as far as that goes without one: schedules, CUDA source, and the host's part."""

import pytest

from .running import run

WAYS = ("default-rules-gpu", "dlight")


def processes(**_: object) -> list[tuple[str, ...]]:
    return [("tvm", "run_gpu_kernels.py")]


def found() -> dict:
    return run("tvm", "run_gpu_kernels.py")


@pytest.mark.parametrize("way", WAYS)
def test_all_steps_agree_with_the_reference(way: str) -> None:
    """With views of the steps of one tensor, of two inputs in turn."""
    assert found()["errors"][way] < 1e-5


def test_rules_for_cuda_are_searched() -> None:
    """Every function has a schedule that keeps a GPU's limits, and that its library is then built of."""
    assert found()["trials"] >= 5


@pytest.mark.parametrize("way", WAYS)
def test_functions_of_a_step_are_kernels(way: str) -> None:
    """Projections of two input sizes, the recurrence, c and h."""
    names = found()["kernels"][way]
    assert all(
        any(name.startswith(each) for name in names)
        for each in ("projected_16", "projected_32", "recurrent", "cell", "hidden")
    )
