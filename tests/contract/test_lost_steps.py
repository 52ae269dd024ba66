"""An implementation that does less than the whole of a sequence is found out, in every framework."""

import pytest

from .running import run

STYLES = {
    ("pytorch", ""): "pytorch",
    ("pytorch-2019", ""): "pytorch",
    ("tensorflow", ""): "tensorflow",
    ("tensorflow-2019", ""): "tensorflow",
    ("tensorflow-2018", ""): "tensorflow",
    ("jax", ""): "jax",
    ("lasagne-2018", ""): "lasagne",
    ("keras", "tensorflow_"): "keras",
    ("keras", "torch_"): "keras",
    ("keras", "jax_"): "keras",
    ("keras-2018", "tensorflow_"): "keras",
    ("keras-2018", "theano_"): "keras",
}
LOSSES = ("truncated", "skipped", "reset")


def processes(environment: str, backend: str, **_: object) -> list[tuple[str, ...]]:
    """One, as Keras has one backend in each."""
    module = f"tests.contract.lost_steps_{STYLES[environment, backend]}"
    return [
        (environment, "run_contract.py", *(f"{module}:{backend}{loss} long" for loss in LOSSES))
    ]


def verdicts(environment: str, backend: str) -> dict:
    """{loss: {phase: verdict}}"""
    (process,) = processes(environment, backend)
    return dict(zip(LOSSES, run(*process).values(), strict=True))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("environment", "backend"), STYLES)
def test_lost_steps_close_the_gate(environment: str, backend: str, loss: str) -> None:
    """By two hundred times the tolerance at least. That a gradient ends early shows in no value."""
    found = verdicts(environment, backend)[loss]
    assert found["training"]["status"] == "incorrect", found["training"]["reason"]
    assert found["training"]["gradient_error"] > 0.02
    assert found["forward"]["status"] == ("ok" if loss == "truncated" else "incorrect")
