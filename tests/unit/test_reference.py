"""The float64 reference against numeric differentiation and against numbers worked out by hand."""

import itertools
from math import exp, tanh
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from measurement import reference
from measurement.cells import CELLS
from measurement.workload import BLANK, Workload
from recurrent_cells.cells import CELLS as KERNELS
from recurrent_cells.cells import reference as derived
from tests import tiny

STEP = 1e-5  # central differences: the error is of the order of STEP**2


class Case(NamedTuple):
    """Weights, a batch of a kind of workload, the state and the masks. At +-1 no gradient drowns in rounding."""

    work: Workload
    weights: dict
    inputs: np.ndarray
    targets: np.ndarray
    state: dict
    masks: list | None

    def loss_and_gradients(self, **moved: np.ndarray) -> tuple[float, dict]:
        given = (self.weights | moved, self.inputs, self.targets)
        kind = self.work.loss, self.work.lengths, dict(self.state)
        return reference.loss_and_gradients(*given, *kind, self.masks, self.work.cell)

    def output(self) -> np.ndarray:
        kind = self.work.loss, self.work.lengths, dict(self.state)
        return reference.output(self.weights, self.inputs, *kind, self.work.cell)


CASES = ["language-model", "carried", "dropped", *tiny.CLASSIFIERS]
OTHERS = [name for name in CELLS if name != "lstm"]


@pytest.fixture(scope="module", params=[*CASES, *OTHERS])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    if request.param in tiny.CLASSIFIERS:
        work = tiny.classifier(request.param)
    elif request.param in OTHERS:
        work = tiny.classifier("one-way", cell=request.param)
    else:
        folder: Path = tmp_path_factory.mktemp("corpus")
        tiny.write_corpus(folder)
        work = tiny.workload(folder, **(tiny.CARRIED if request.param != "language-model" else {}))
    weights = reference.float64(work.weights())
    scale = 3 if request.param == "slstm" else 10  # exponential gates are steep
    weights = {
        name: value if name.endswith(".vectors") else scale * value
        for name, value in weights.items()
    }
    state, masks, batches = {}, None, work.batches()
    if work.carried:
        reference.output(weights, next(batches)[0], state=state)
    if request.param == "dropped":
        random = np.random.default_rng(0)
        widths = (work.features, *[work.hidden] * work.layers)
        masks = [2.0 * random.integers(0, 2, (work.length, work.batch, n)) for n in widths]
    return Case(work, weights, *next(batches), state, masks)


def test_gradients_are_slopes_of_the_loss(case: Case) -> None:
    """In random directions, to which every element of a weight contributes."""
    gradients, random = case.loss_and_gradients()[1], np.random.default_rng(0)
    assert {name: gradient.shape for name, gradient in gradients.items()} == case.work.shapes()
    for name, gradient in gradients.items():
        for _ in range(4):
            direction = random.standard_normal(gradient.shape)
            direction /= np.linalg.norm(direction)
            ends = (case.weights[name] + sign * STEP * direction for sign in (1, -1))
            plus, minus = (case.loss_and_gradients(**{name: each})[0] for each in ends)
            off = abs((plus - minus) / (2 * STEP) - (gradient * direction).sum())
            assert off < 1e-7 * max(np.abs(gradient).max(), 1e-2), name
    # At its first step, the only one that a class of the last step asks for, the upper reverse
    # direction has no state.
    without = {name for name, gradient in gradients.items() if not gradient.any()}
    last = case.work.bidirectional and case.work.loss == "ce-last"
    assert without == ({"lstm.1.reverse.recurrent"} if last else set())


def collapsed(path: tuple) -> tuple:
    """The labels of a path of outputs: repetitions count once, then blanks go."""
    kept = [label for label, _ in itertools.groupby(path)]
    return tuple(label for label in kept if label != BLANK)


def test_loss_follows_from_the_logits(case: Case) -> None:
    """Cross-entropy by its definition; CTC by all paths of a sequence whose labels are the targets."""
    probability = np.exp(case.output())
    probability /= probability.sum(axis=-1, keepdims=True)
    if case.work.loss == "ctc":
        likelihoods = []
        for sequence, labels in enumerate(case.targets):
            length = case.work.lengths[sequence]
            of_path = {
                path: np.prod(probability[np.arange(length), sequence, path])
                for path in itertools.product([BLANK, *set(labels)], repeat=length)
                if collapsed(path) == tuple(labels)
            }
            likelihoods.append(sum(of_path.values()))
    else:
        likelihoods = np.take_along_axis(probability, case.targets[..., None], axis=-1)
    expected = -np.log(likelihoods).mean() * (case.work.length if case.work.loss == "ce-sum" else 1)
    loss = case._replace(masks=None).loss_and_gradients()[0]
    assert loss == pytest.approx(expected, rel=1e-12)


def test_clipping_by_the_norm_of_all_gradients() -> None:
    gradients = {"a": np.array([3.0]), "b": np.array([[0.0, 4.0]])}
    for limit, expected in ((2.5, ([1.5], [[0.0, 2.0]])), (5.5, ([3.0], [[0.0, 4.0]]))):
        found = reference.clipped(gradients, limit)
        assert (found["a"].tolist(), found["b"].tolist()) == expected
    assert reference.clipped(gradients, None)["a"] == [3.0]


def test_reverse_direction_starts_at_the_end_of_each_sequence() -> None:
    """A short sequence's outputs are those it has alone, whatever follows it."""
    work = tiny.classifier("ctc")
    weights, (inputs, _) = work.weights(), next(work.batches())
    found = reference.output(weights, inputs, "ctc", work.lengths)
    for sequence, length in enumerate(work.lengths):
        alone = reference.output(weights, inputs[:length, sequence : sequence + 1])
        assert np.allclose(found[:length, sequence], alone[:, 0], rtol=0, atol=1e-12)
    assert not found[work.lengths[0] :, 0].any()  # h is zero there, and there is no bias


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
    found = reference.layer("lstm", x, (w_input, w_recurrent, bias))
    assert found[0][:, 0, 0] == pytest.approx(expected, rel=1e-12)


def test_adam_by_hand() -> None:
    """Two steps; the large epsilon tells `sqrt(v_hat) + epsilon` from `sqrt(v) + epsilon`."""
    adam = reference.Adam({"learning_rate": 0.1, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 0.5})
    other = {"other": np.array([7.0])}  # whose moments are its own
    first = adam.update({"w": np.array([1.0])} | other, {"w": np.array([0.5])} | other)
    # m_hat = 0.5, v_hat = 0.25: 1 - 0.1 * 0.5 / (0.5 + 0.5)
    assert first["w"] == pytest.approx([0.95], rel=1e-12)
    second = adam.update(first, {"w": np.array([-0.25])} | other)
    # m = 0.9 * 0.05 - 0.1 * 0.25 = 0.02; v = 0.999 * 0.00025 + 0.001 * 0.0625 = 0.00031225
    m_hat, v_hat = 0.02 / 0.19, 0.00031225 / 0.001999
    assert second["w"] == pytest.approx([0.95 - 0.1 * m_hat / (v_hat**0.5 + 0.5)], rel=1e-12)


@pytest.mark.parametrize("name", CELLS)
def test_cells_are_those_that_kernels_are_made_of(name: str) -> None:
    """Written by hand here, and derived there from the expressions that kernels are compiled from."""
    other, own = KERNELS[name.replace("-", "_")], CELLS[name]
    assert (own.gates, own.biases) == (other.gates, other.declared_sums)
    assert (own.states, own.vectors) == (other.states, other.vectors)
    random = np.random.default_rng(0)
    flat = [each.astype(np.float64) for each in derived.random_layer(other, 5, 6, random)]
    x, d_y = random.uniform(-1, 1, (7, 3, 5)), random.uniform(-1, 1, (7, 3, 6))
    zero = {state: np.zeros((1, 3, 6)) for state in own.states}
    y, final, tape = derived.forward(other, x, [flat], zero)
    d_x, _, (d_layer,) = derived.gradients(other, [flat], tape, d_y, zero)
    layer = (*flat[:3], *([np.concatenate(flat[3:])] if own.vectors else []))
    found, states, kept = reference.layer(name, x, layer)
    gradients = reference.layer_gradient(name, x, layer, kept, d_y)
    expected = (d_x, *d_layer[:3], *([np.concatenate(d_layer[3:])] if own.vectors else []))
    assert np.allclose(found, y, rtol=0, atol=1e-13)
    for state, value in zip(own.states, states, strict=True):
        assert np.allclose(final[state][0], value, rtol=0, atol=1e-13), state
    for gradient, value in zip(gradients, expected, strict=True):
        assert np.allclose(gradient, value, rtol=0, atol=1e-11)
