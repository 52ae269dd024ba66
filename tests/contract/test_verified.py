"""What passes the check and is wrong under the clock is found out, and right rows of every framework pass."""

import pytest

from .running import run

HONEST = {
    "pytorch": "pytorch/cell",
    "tensorflow": "tensorflow/graph-unrolled",
    "jax": "jax/scan",
}
CHEATING = {
    "caching": "after the last timed batch, ",
    "wrong_at_size": "after the last timed batch, ",
    "early": "before it has finished",
}
PLANTED = "tests.contract.cheating_pytorch:"


def processes(environment: str = "", **_: object) -> list[tuple[str, ...]]:
    if not environment:
        return [("jax", "run_fetched.py"), *processes("pytorch")]
    planted = [PLANTED + kind for kind in CHEATING] if environment == "pytorch" else []
    return [(environment, "run_verified.py", HONEST[environment], *planted)]


def verdicts(environment: str) -> dict:
    """{implementation: {phase: {"check", "verified"}}}"""
    return run(*processes(environment)[0])


@pytest.mark.parametrize("phase", ["forward", "training"])
@pytest.mark.parametrize("environment", HONEST)
def test_honest_row_is_verified(environment: str, phase: str) -> None:
    found = verdicts(environment)[HONEST[environment]][phase]
    assert found["check"]["status"] == "ok", found["check"]["reason"]
    assert found["verified"]["status"] == "ok", found["verified"]["reason"]
    assert max(found["verified"]["verification"]["errors"].values()) < 1e-5


@pytest.mark.parametrize("phase", ["forward", "training"])
@pytest.mark.parametrize("kind", CHEATING)
def test_planted_fault_passes_the_check_and_is_incorrect(kind: str, phase: str) -> None:
    found = verdicts("pytorch")[PLANTED + kind][phase]
    assert found["check"]["status"] == "ok", found["check"]["reason"]
    assert found["verified"]["status"] == "incorrect"
    assert CHEATING[kind] in found["verified"]["reason"]


@pytest.mark.parametrize("array", ["converted", "put together"])
def test_jax_brings_what_it_would_keep_on_the_host_anew(array: str) -> None:
    """What is fetched again is what the first fetch is held against."""
    found = run("jax", "run_fetched.py")
    assert found[array] == {"anew": True, "equal": True, "kept by NumPy's way": True}
