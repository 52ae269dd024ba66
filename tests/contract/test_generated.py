"""Steps that are generated of a cell's file: in styles of every framework, against the reference and against those by hand; and in
kernels, where a wrong rule of the derivative agrees with itself."""

import pytest

from measurement.cells import BUILT_IN as CELLS

from .running import run

FRAMEWORKS = ("pytorch", "tensorflow", "jax")
EXAMPLES = 13


def processes(environment: str = "tvm") -> list[tuple[str, ...]]:
    if environment == "tvm":
        return [("tvm", "run_own_kernels.py")]
    return [(environment, "run_generated.py", environment)]


@pytest.mark.parametrize("environment", FRAMEWORKS)
def test_generated_steps_in_styles(environment: str) -> None:
    found = run(*processes(environment)[0])["verdicts"]
    assert sum(name.startswith("example") for name in found) >= EXAMPLES * 2
    assert sum(name.startswith("by hand") for name in found) == 3 * 2
    for name, verdict in found.items():
        assert verdict["status"] == "ok", (name, verdict["reason"])
        assert verdict["error"] < 5e-5, name


@pytest.mark.parametrize("environment", FRAMEWORKS)
def test_a_generated_step_launches_no_more_than_one_by_hand(environment: str) -> None:
    """Operators of a step and of its gradient."""
    found = run(*processes(environment)[0])["operators"]
    assert set(found) == set(CELLS)
    assert {name: both for name, both in found.items() if not 0 < both[1] <= both[0]} == {}


def test_own_cells_in_kernels() -> None:
    found = run(*processes()[0])
    planted = found["planted"]
    assert planted["status"] == "incorrect" and "derived of own.janet" in planted["reason"]
    # The kernel and the reference share the rule: without a second witness it would be right.
    others = [error for name, error in planted["errors"].items() if "reference:" not in name]
    assert max(others) < 5e-5
    functions = found["functions"]
    assert set(functions) == {"exp", "log", "sqrt", "sin", "cos", "softplus", "sigmoid", "tanh"}
    for name, (error, bound) in functions.items():
        assert error < bound, name
    assert len(found["kernels"]) == 6 + 2
    for name, errors in found["kernels"].items():
        assert max(errors.values()) < 5e-5, (name, errors)
