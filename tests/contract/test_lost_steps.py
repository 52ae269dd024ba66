"""An implementation that does less than the whole of a sequence is found out: gradients that end early, steps that are left
out, a state that is begun anew. tests/unit/test_checking.py has every cell."""

import pytest

from .running import GATE, run

FRAMEWORKS = ("pytorch", "tensorflow", "jax")
LOSSES = ("truncated", "skipped", "reset")


def rows(environment: str) -> dict[str, str]:
    return {loss: f"tests.contract.lost_steps_{environment}:{loss} long" for loss in LOSSES}


def processes(environment: str, **_: object) -> list[tuple[str, ...]]:
    return [(environment, GATE, *rows(environment).values())]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("environment", FRAMEWORKS)
def test_lost_steps_close_the_gate(environment: str, loss: str) -> None:
    """By two hundred times the tolerance at least. That a gradient ends early shows in no value."""
    row = rows(environment)[loss]
    found = run(environment, GATE, row)[row]
    assert found["training"]["status"] == "incorrect", found["training"]["reason"]
    assert found["training"]["gradient_error"] > 0.02
    assert found["forward"]["status"] == ("ok" if loss == "truncated" else "incorrect")
