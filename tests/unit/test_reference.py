"""The float64 reference against numeric differentiation and against numbers worked out by hand."""

from math import exp, tanh
from pathlib import Path

import numpy as np
import pytest

from measurement import reference
from tests import tiny

STEP = 1e-5  # central differences: the error is of the order of STEP**2


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, np.ndarray, np.ndarray]:
    """Weights, inputs and targets of one tiny batch. At +-1 no gradient drowns in rounding."""
    folder: Path = tmp_path_factory.mktemp("corpus")
    tiny.write_corpus(folder)
    work = tiny.workload(folder)
    inputs, targets = next(work.batches())
    weights = reference.float64(work.weights())
    return {name: 10 * value for name, value in weights.items()}, inputs, targets


@pytest.mark.parametrize(
    "name",
    [
        "embedding",
        *(f"lstm.{layer}.{part}" for layer in (0, 1) for part in ("input", "recurrent", "bias")),
        "projection.weight",
        "projection.bias",
    ],
)
def test_gradient_is_the_slope_of_the_loss(case: tuple, name: str) -> None:
    weights, inputs, targets = case
    gradient = reference.loss_and_gradients(weights, inputs, targets)[1][name]
    numeric = np.zeros_like(gradient)
    for position in np.ndindex(gradient.shape):
        losses = []
        for sign in (1, -1):
            moved = dict(weights, **{name: weights[name].copy()})
            moved[name][position] += sign * STEP
            losses.append(reference.loss_and_gradients(moved, inputs, targets)[0])
        numeric[position] = (losses[0] - losses[1]) / (2 * STEP)
    assert np.abs(gradient).max() > 0
    assert np.abs(numeric - gradient).max() < 1e-6 * np.abs(gradient).max()


def test_gradients_name_every_weight(case: tuple) -> None:
    weights, inputs, targets = case
    gradients = reference.loss_and_gradients(weights, inputs, targets)[1]
    assert {n: g.shape for n, g in gradients.items()} == {n: w.shape for n, w in weights.items()}


def test_loss_is_the_mean_cross_entropy_of_the_logits(case: tuple) -> None:
    weights, inputs, targets = case
    probability = np.exp(reference.output(weights, inputs))
    probability /= probability.sum(axis=-1, keepdims=True)
    of_targets = np.take_along_axis(probability, targets[..., None], axis=-1)
    loss = reference.loss_and_gradients(weights, inputs, targets)[0]
    assert loss == pytest.approx(-np.log(of_targets).mean(), rel=1e-12)


def test_gates_stand_in_the_order_i_f_g_o() -> None:
    """One unit, two steps, by hand: no two gates can change places unnoticed."""

    def sigmoid(x: float) -> float:
        return 1 / (1 + exp(-x))

    bias = np.array([0.1, 0.2, 0.3, 0.4])
    w_input, w_recurrent = np.array([[0.5, -0.6, 0.7, -0.8]]), np.array([[0.9, 1.0, -1.1, 1.2]])
    x = np.array([[[2.0]], [[-1.0]]])
    h = c = 0.0
    expected = []
    for value in (2.0, -1.0):
        i = sigmoid(0.5 * value + 0.9 * h + 0.1)
        f = sigmoid(-0.6 * value + 1.0 * h + 0.2)
        g = tanh(0.7 * value - 1.1 * h + 0.3)
        o = sigmoid(-0.8 * value + 1.2 * h + 0.4)
        c = f * c + i * g
        h = o * tanh(c)
        expected.append(h)
    found, _ = reference.lstm_layer(x, w_input, w_recurrent, bias)
    assert found[:, 0, 0] == pytest.approx(expected, rel=1e-12)


def test_adam_by_hand() -> None:
    """Two steps; the large epsilon tells `sqrt(v_hat) + epsilon` from `sqrt(v) + epsilon`."""
    adam = reference.Adam({"learning_rate": 0.1, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 0.5})
    first = adam.update({"w": np.array([1.0])}, {"w": np.array([0.5])})
    # m_hat = 0.5, v_hat = 0.25: 1 - 0.1 * 0.5 / (0.5 + 0.5)
    assert first["w"] == pytest.approx([0.95], rel=1e-12)
    second = adam.update(first, {"w": np.array([-0.25])})
    # m = 0.9 * 0.05 - 0.1 * 0.25 = 0.02; v = 0.999 * 0.00025 + 0.001 * 0.0625 = 0.00031225
    m_hat, v_hat = 0.02 / 0.19, 0.00031225 / 0.001999
    assert second["w"] == pytest.approx([0.95 - 0.1 * m_hat / (v_hat**0.5 + 0.5)], rel=1e-12)


def test_adam_keeps_the_moments_of_each_weight_apart() -> None:
    constants = {"learning_rate": 0.1, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-8}
    together, alone = reference.Adam(constants), reference.Adam(constants)
    for gradient in (1.0, -3.0):
        both = together.update({"a": [0.0], "b": [0.0]}, {"a": [gradient], "b": [7.0]})
        one = alone.update({"a": [0.0]}, {"a": [gradient]})
        assert both["a"] == one["a"]
