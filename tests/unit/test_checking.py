"""The gate: a right runner passes, and every kind of wrong one is found and named."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from measurement import checking, reference
from measurement.cells import CELLS
from measurement.workload import Workload, layer_weights
from plan import matrix
from tests import tiny
from tests.plain.model import Model

TOLERANCE, STEPS = 1e-4, 3
Change = Callable[[dict, int], None]


class Planted(Model):
    """A right model with an error planted: each change gets the named values and the step number."""

    found: Change = staticmethod(lambda values, step: None)
    updated: Change = staticmethod(lambda values, step: None)
    steps = 0

    def altered(self, found: dict) -> dict:
        self.steps += 1
        self.found(found, self.steps)
        return found

    def kept(self, updated: dict) -> dict:
        self.updated(updated, self.steps)
        return updated


@pytest.fixture
def work(tmp_path: Path) -> Workload:
    tiny.write_corpus(tmp_path)
    return tiny.workload(tmp_path)


@pytest.fixture
def carried(tmp_path: Path) -> Workload:
    tiny.write_corpus(tmp_path)
    return tiny.workload(tmp_path, **tiny.CARRIED)


def verdict(runner: Model, work: Workload, phase: str) -> dict:
    return checking.check(runner, work, work.weights(), phase, TOLERANCE, STEPS)


def planted(work: Workload, phase: str, **changes: Change) -> dict:
    runner = Planted(work, work.weights(), "cpu", phase)
    for name, change in changes.items():
        setattr(runner, name, change)
    found = verdict(runner, work, phase)
    assert runner.steps == STEPS
    return found


def test_training_compares_every_quantity(work: Workload) -> None:
    found = verdict(Model(work, work.weights(), "cpu", "training"), work, "training")
    kinds = ("initial", "gradient", "update")
    expected = {"loss"} | {f"{kind}:{name}" for kind in kinds for name in work.weights()}
    assert set(found["errors"]) == expected
    assert found["gradient_error"] is not None


@pytest.mark.parametrize(
    ("name", "since"),
    [("output", 1), ("loss", STEPS), ("embedding", 1), ("lstm.0.recurrent", STEPS)],
)
def test_wrong_output_loss_or_gradient(work: Workload, name: str, since: int) -> None:
    """Compilers that profile first go wrong later."""

    def change(values: dict, step: int) -> None:
        values[name] = values[name] * (1.001 if step >= since else 1)

    found = planted(work, "forward" if name == "output" else "training", found=change)
    key = name if name in ("output", "loss") else f"gradient:{name}"
    assert found["status"] == "incorrect"
    assert found["reason"].startswith(f"{key} is off by") and "1e-04" in found["reason"]
    wrong = {each: error for each, error in found["errors"].items() if error > TOLERANCE}
    assert wrong == {key: pytest.approx(0.001, rel=0.01)}


def test_nan_is_never_within_tolerance(work: Workload) -> None:
    def change(values: dict, step: int) -> None:
        values["lstm.0.bias"][0] = np.nan

    found = planted(work, "training", found=change)
    assert found["status"] == "incorrect"
    assert found["errors"]["gradient:lstm.0.bias"] == float("inf")


def test_update_with_another_learning_rate(work: Workload) -> None:
    """Right gradients, wrong optimizer."""
    before = work.weights()["lstm.1.recurrent"]

    def change(values: dict, step: int) -> None:
        if step == 1:
            values["lstm.1.recurrent"] = before + 1.01 * (values["lstm.1.recurrent"] - before)

    found = planted(work, "training", updated=change)
    assert found["reason"].startswith("update:lstm.1.recurrent is off by 0.01 ")


class Forgetful(Model):
    """Begins every batch from zeros."""

    def step(self, inputs: np.ndarray, targets: np.ndarray) -> dict:
        self.reset()
        return super().step(inputs, targets)


class Endless(Model):
    """Goes on with its state where an epoch begins."""

    def reset(self) -> None:
        self._state = self._state or {}


@pytest.mark.parametrize("phase", ["forward", "training"])
@pytest.mark.parametrize(
    ("kind", "steps", "status"),
    [(Model, 18, "ok"), (Forgetful, 2, "incorrect"), (Endless, 17, "incorrect")],
)
def test_carried_state(carried: Workload, kind, phase, steps, status) -> None:
    """An epoch has 16 batches."""
    runner = kind(carried, carried.weights(), "cpu", phase)
    found = checking.check(runner, carried, carried.weights(), phase, TOLERANCE, steps)
    assert found["status"] == status, found["reason"]


def test_gradients_that_are_not_clipped(carried: Workload) -> None:
    runner = Model(carried, carried.weights(), "cpu", "training")
    runner._clip_norm = None
    found = verdict(runner, carried, "training")
    assert found["status"] == "incorrect"
    assert [name for name, error in found["errors"].items() if error > TOLERANCE] == ["clip"]


@pytest.mark.parametrize(("factor", "status"), [(1.005, "ok"), (1.02, "incorrect")])
def test_a_norm_that_is_a_little_off(carried: Workload, factor: float, status: str) -> None:
    """As PyTorch's is on a CPU: a factor that all gradients have in common."""

    def change(values: dict, step: int) -> None:
        values |= {name: value * factor for name, value in values.items() if name != "loss"}

    found = planted(carried, "training", found=change)
    assert found["status"] == status
    assert found["errors"]["clip"] == pytest.approx(factor - 1, rel=1e-3)
    assert found["gradient_error"] < 1e-6


def test_a_gradient_left_out_of_the_clipping(carried: Workload) -> None:
    def change(values: dict, step: int) -> None:
        values["embedding"] = values["embedding"] * 1.001

    found = planted(carried, "training", found=change)
    assert found["reason"].startswith("gradient:embedding is off by 0.00")


class Dropping(Model):
    """The reference with dropout as it should be, but for what a test changes."""

    rate, scale, fixed, of_state = 0.5, 2.0, False, False

    def __init__(self, work: Workload, *arguments) -> None:
        super().__init__(work, *arguments)
        self._random = np.random.default_rng(0)
        self._on, self._widths = work.dropout, (work.features, *[work.hidden] * work.layers)

    def step(self, inputs: np.ndarray, targets: np.ndarray) -> dict:
        self._masks = None
        if self._on:
            random = np.random.default_rng(0) if self.fixed else self._random
            shapes = [(*inputs.shape, width) for width in self._widths]
            self._masks = [self.scale * (random.random(shape) >= self.rate) for shape in shapes]
        found = super().step(inputs, targets)
        if self._on and self.of_state:
            self._state = {name: (0 * h, c) for name, (h, c) in self._state.items()}
        return found


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"rate": 0.0, "scale": 1.0}, "dropout sets a share of 0 to zero instead of 0.5"),
        ({"rate": 0.35, "scale": 1 / 0.65}, "dropout sets a share of 0.3"),
        ({"scale": 1.0}, "dropout:gradient:"),
        ({"fixed": True}, "dropout drops the same elements at every step"),
        ({"of_state": True}, "dropout:gradient:"),
    ],
)
def test_dropout(tmp_path: Path, change: dict, reason: str) -> None:
    tiny.write_corpus(tmp_path)
    wide = {"hidden": 100, "embedding": 100, "dropout": 0.5}
    work = tiny.workload(tmp_path, **tiny.CARRIED, **wide)

    def build(workload: Workload, weights: dict) -> Model:
        runner = Dropping(workload, weights, "cpu", "training")
        for name, value in change.items():
            setattr(runner, name, value)
        return runner

    given = (work, work.weights(), "training", TOLERANCE, STEPS)
    _, found = checking.check_implementation(build, *given)
    assert found["status"] == ("incorrect" if reason else "ok")
    assert found["reason"].startswith(reason)
    assert len(found["dropout"]) == 3


def test_other_initial_weights(work: Workload) -> None:
    weights = work.weights()
    weights["projection.bias"] = np.zeros_like(weights["projection.bias"])
    runner = Model(work, weights, "cpu", "training")
    assert verdict(runner, work, "training")["errors"]["initial:projection.bias"] > TOLERANCE


class Truncated(Model):
    """Back-propagates through the last steps of a sequence only."""

    def step(self, inputs: np.ndarray, targets: np.ndarray) -> dict:
        def last_steps(cell, x, weights, tape, d_output):
            kept = slice(len(x) - tiny.KEPT_STEPS, None)
            d_x, *others = whole(cell, x[kept], weights, tape[kept], d_output[kept])
            return np.concatenate([np.zeros_like(x[: -tiny.KEPT_STEPS]), d_x]), *others

        whole = reference.layer_gradient
        reference.layer_gradient = last_steps
        try:
            return super().step(inputs, targets)
        finally:
            reference.layer_gradient = whole


@pytest.mark.parametrize("cell", CELLS)
def test_weights_that_are_checked_show_what_those_that_are_timed_do_not(cell: str) -> None:
    work = tiny.classifier("long", cell=cell)
    given = (work, work.weights(), "training", TOLERANCE, STEPS)
    as_timed = verdict(Truncated(work, work.weights(), "cpu", "training"), work, "training")
    if cell == "lstm":
        assert as_timed["status"] == "ok" and as_timed["gradient_error"] < 1e-6
    for kind, status in ((Model, "ok"), (Truncated, "incorrect")):
        _, found = checking.check_implementation(
            lambda workload, weights, kind=kind: kind(workload, weights, "cpu", "training"), *given
        )
        assert found["status"] == status, found["reason"]


def error_after(
    cell: str, change: Callable[[dict, np.ndarray], tuple[dict, np.ndarray]], **sizes: int
) -> float:
    """The largest error of gradients with checked weights, where weights and inputs are changed."""
    work = Workload(sizes | {"layers": 1, "cell": cell, "loss": "ce-last"}, None, seed=0)
    inputs, targets = next(work.batches())
    given = checking.remembering(work.weights(), work.length, cell), inputs
    (_, expected), (_, found) = (
        reference.loss_and_gradients(weights, x, targets, "ce-last", cell=cell)
        for weights, x in (given, change(*given))
    )
    return max(
        checking.gradient_error(name, found[name], expected[name], work.hidden) for name in expected
    )


@pytest.mark.parametrize("cell", CELLS)
def test_one_step_of_a_thousand_counts(cell: str) -> None:
    """The first, which is farthest from the loss: an input of zeros instead."""

    def change(weights: dict, inputs: np.ndarray) -> tuple[dict, np.ndarray]:
        return weights, np.concatenate([0 * inputs[:1], inputs[1:]])

    sizes = {"features": 5, "hidden": 8, "length": 1000, "batch": 3, "outputs": 6}
    assert error_after(cell, change, **sizes) > 1e-3


@pytest.mark.parametrize("cell", CELLS)
def test_weights_that_are_checked_do_not_amplify_rounding(cell: str) -> None:
    """Otherwise an order of summation decides which rows are right: peepholes that open both gates made it 6e-4."""
    random, ulp = np.random.RandomState(0), np.finfo(np.float32).eps / 2

    def change(weights: dict, inputs: np.ndarray) -> tuple[dict, np.ndarray]:
        exact = reference.float64(weights).items()
        return {n: v * (1 + ulp * random.uniform(-1, 1, v.shape)) for n, v in exact}, inputs

    sizes = {"features": 64, "hidden": 256, "length": 100, "batch": 4, "outputs": 10}
    assert error_after(cell, change, **sizes) < 0.02 * TOLERANCE


@pytest.mark.parametrize("unit", [0, 1])
def test_both_kinds_of_units_are_held_to_their_own_gradients(unit: int) -> None:
    expected = np.ones((5, 32))
    expected[:, 1::2] = 100.0
    value = expected.copy()
    value[3, 8 + unit] *= 1.01
    assert checking.gradient_error("lstm.0.input", value, expected, 8) == pytest.approx(0.01)
    assert checking.gradient_error("lstm.0.input", value.T, expected, 8) == float("inf")


@pytest.mark.parametrize(
    ("value", "expected", "error"),
    [
        ([0.0], [0.0], 0.0),
        ([0.5], [0.0], 0.5),
        ([1.0], [1.0, 1.0], float("inf")),
        ([np.inf], [1.0], float("inf")),
    ],
)
def test_relative_error(value: list, expected: list, error: float) -> None:
    assert checking.relative_error(value, expected) == error


@pytest.mark.parametrize(("step", "error"), [(1e-5, 0.0), (1.01e-5, 0.01)])
def test_rounding_a_weight_is_no_error_of_its_update(step: float, error: float) -> None:
    """An update of a thousandth of the weight's last places: rounded it passes, wrong by 1 % it does not."""
    before = np.linspace(0.05, 0.1, 50).astype(np.float32).astype(np.float64)
    after = (before + step).astype(np.float32).astype(np.float64)
    assert checking.update_error(before, after, before + 1e-5) == pytest.approx(error, abs=1e-3)


def test_input_reaches_the_top_of_the_deepest_stack() -> None:
    """Or no check would see its lower layers; and what float32 rounds stays far below the tolerance."""
    shapes = matrix.document("tvm-lstm")["benchmarks"].values()
    work = Workload(max(shapes, key=lambda shape: shape["layers"]), None, seed=0, batch=4)
    inputs, _ = next(work.batches())
    timed = work.weights()
    for weights in (timed, checking.remembering(timed, work.length)):
        expected, changed = (reference.output(weights, x, None) for x in (inputs, -inputs))
        assert checking.relative_error(changed, expected) > 1e-2
        h = inputs.copy()
        for layer in layer_weights(weights):
            h, _, _ = reference.layer("lstm", h, layer)
        assert h.dtype == np.float32
        assert checking.relative_error(h, expected) < 1e-5


def test_a_cell_whose_gradients_are_all_zero_is_not_trained(work: Workload, monkeypatch) -> None:
    def flat(*arguments: object, **more: object) -> tuple:
        loss, gradients = exact(*arguments, **more)
        return loss, {name: 0.0 * value for name, value in gradients.items()}

    exact = reference.loss_and_gradients
    monkeypatch.setattr(reference, "loss_and_gradients", flat)
    with pytest.raises(checking.Unsupported):
        verdict(Model(work, work.weights(), "cpu", "training"), work, "training")
