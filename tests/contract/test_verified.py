"""What passes the check and is wrong under the clock is found out, in frameworks too."""

import functools

import pytest

from .test_implementations import run

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


def rows(environment: str) -> list[str]:
    framework = HONEST[environment].split("/")[0]
    return [
        HONEST[environment],
        *(f"tests.contract.cheating_{framework}:{kind}" for kind in CHEATING),
    ]


def processes(environment: str = "", **_: object) -> list[tuple[str, ...]]:
    if not environment:
        return [("jax", "run_fetched.py")]
    return [(environment, "run_verified.py", *rows(environment))]


@functools.cache
def verdicts(environment: str) -> dict:
    """{implementation: {phase: {"check", "verified"}}}; the honest one is called "honest"."""
    found = run(environment, "run_verified.py", *rows(environment))
    return dict(zip(["honest", *CHEATING], found.values(), strict=True))


@pytest.mark.parametrize("phase", ["forward", "training"])
@pytest.mark.parametrize("environment", HONEST)
def test_honest_row_is_verified(environment: str, phase: str) -> None:
    found = verdicts(environment)["honest"][phase]
    assert found["check"]["status"] == "ok", found["check"]["reason"]
    assert found["verified"]["status"] == "ok", found["verified"]["reason"]
    assert max(found["verified"]["verification"]["errors"].values()) < 1e-5


@pytest.mark.parametrize("phase", ["forward", "training"])
@pytest.mark.parametrize("kind", CHEATING)
@pytest.mark.parametrize("environment", HONEST)
def test_planted_fault_passes_the_check_and_is_incorrect(
    environment: str, kind: str, phase: str
) -> None:
    found = verdicts(environment)[kind][phase]
    assert found["check"]["status"] == "ok", found["check"]["reason"]
    assert found["verified"]["status"] == "incorrect"
    assert CHEATING[kind] in found["verified"]["reason"]


@pytest.mark.parametrize("array", ["converted", "put together"])
def test_jax_brings_what_it_would_keep_on_the_host_anew(array: str) -> None:
    """What is fetched again is what the first fetch is held against."""
    found = run("jax", "run_fetched.py")
    assert found[array] == {"anew": True, "equal": True, "kept by NumPy's way": True}
