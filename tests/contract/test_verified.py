"""What passes the check and is wrong under the clock is found out, and right rows of every framework pass."""

import pytest

from .running import GATE, run

HONEST = [
    ("pytorch", "pytorch/cell verified"),
    ("tensorflow", "tensorflow/graph-unrolled verified"),
    ("jax", "jax/scan verified"),
]
CHEATING = {
    "tests.contract.cheating_pytorch:caching verified": "after the last timed batch, ",
    "tests.contract.cheating_pytorch:wrong_at_size verified": "after the last timed batch, ",
    "tests.contract.cheating_pytorch:early verified": "before it has finished",
}


def processes(environment: str = "", row: str = "", **_: object) -> list[tuple[str, ...]]:
    return [(environment or "pytorch", GATE, row)] if row else [("jax", "run_fetched.py")]


@pytest.mark.parametrize(("environment", "row"), HONEST)
def test_honest_row_is_verified(environment: str, row: str) -> None:
    for phase, found in run(environment, GATE, row)[row].items():
        assert found["check"]["status"] == "ok", (phase, found["check"]["reason"])
        assert found["verified"]["status"] == "ok", (phase, found["verified"]["reason"])
        assert max(found["verified"]["verification"]["errors"].values()) < 1e-5, phase


@pytest.mark.parametrize("row", CHEATING)
def test_planted_fault_passes_the_check_and_is_incorrect(row: str) -> None:
    for phase, found in run("pytorch", GATE, row)[row].items():
        assert found["check"]["status"] == "ok", (phase, found["check"]["reason"])
        assert found["verified"]["status"] == "incorrect", phase
        assert CHEATING[row] in found["verified"]["reason"], phase


@pytest.mark.parametrize("array", ["converted", "put together"])
def test_jax_brings_what_it_would_keep_on_the_host_anew(array: str) -> None:
    """What is fetched again is what the first fetch is held against."""
    found = run("jax", "run_fetched.py")
    assert found[array] == {"anew": True, "equal": True, "kept by NumPy's way": True}
