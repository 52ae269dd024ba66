"""What was timed is verified at its own shape: what passes a check and cheats under the clock is found out."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from measurement import checking, reference, verifying
from measurement.workload import Workload
from tests import tiny
from tests.plain import caching, early, wrong_at_size
from tests.plain.model import Model

PHASES = ("forward", "training")
LARGE = {"batch": 12, "weight_range": 0.5}  # at 0.1, so small a model hardly depends on its input
CLASSES = ("one-way", "both-ways", "ctc")


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "PAUSE_S", 0.001)


@pytest.fixture
def work(tmp_path: Path) -> Workload:
    tiny.write_corpus(tmp_path)
    return tiny.workload(tmp_path, **LARGE)


def verified(kind: type, work: Workload, phase: str, timed: int = 3) -> dict:
    """The verdict on a runner after a few batches."""
    runner = kind(work, work.weights(), "cpu", phase)
    if work.carried:
        runner.reset()
    for _, batch in zip(range(timed), work.batches(), strict=False):
        runner.step(*batch)
    return verifying.verify(runner, work, work.weights(), phase)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("changes", [{}, tiny.CARRIED, tiny.CARRIED | {"dropout": 0.3}])
def test_right_one_passes(tmp_path: Path, changes: dict, phase: str) -> None:
    tiny.write_corpus(tmp_path)
    work = tiny.workload(tmp_path, **changes, **LARGE)
    found = verified(Model, work, phase)
    assert (found["status"], found["reason"]) == ("ok", "")
    assert found["verification"]["finished"]
    errors = found["verification"]["errors"]
    if not changes:
        assert max(errors.values()) < 1e-5
        assert len(errors) == (1 if phase == "forward" else 1 + len(work.weights()))


@pytest.mark.parametrize("kind", CLASSES)
def test_classifiers(kind: str) -> None:
    found = verified(Model, tiny.classifier(kind, batch=12), "training")
    assert found["status"] == "ok", found["reason"]
    assert set(found["verification"]["errors"]) > {"loss"} or kind == "ctc"


def test_cached_results_under_dropout(tmp_path: Path) -> None:
    """Masks are not known, and which tokens there were is."""
    tiny.write_corpus(tmp_path)
    work = tiny.workload(tmp_path, **tiny.CARRIED, dropout=0.3, batch=4, vocabulary=100)
    found = verified(caching.Caching, work, "training")
    assert found["status"] == "incorrect" and ", tokens is off" in found["reason"]


def passes_its_check(kind: type, work: Workload, phase: str, steps: int = 1) -> bool:
    small = work.changed(batch=4)
    given = (small, work.weights(), phase, 1e-4, steps)
    _, found = checking.check_implementation(
        lambda w, weights: kind(w, weights, "cpu", phase), *given
    )
    return found["status"] == "ok"


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("kind", [caching.Caching, wrong_at_size.WrongAtSize])
def test_wrong_when_timed(kind: type, work: Workload, phase: str) -> None:
    assert passes_its_check(kind, work, phase)
    found = verified(kind, work, phase)
    assert found["status"] == "incorrect"
    assert found["reason"].startswith("after the last timed batch, ")


def test_gradients_count_at_the_timed_shape(work: Workload) -> None:
    """A loss can be right where a gradient is not."""
    assert passes_its_check(wrong_at_size.LossOfAll, work, "training")
    found = verified(wrong_at_size.LossOfAll, work, "training")
    assert found["status"] == "incorrect" and ", gradient:" in found["reason"]
    assert found["verification"]["errors"]["loss"] < 1e-6


@pytest.mark.parametrize("phase", PHASES)
def test_one_that_returns_before_it_has_finished(work: Workload, phase: str) -> None:
    assert passes_its_check(early.Early, work, phase)
    found = verified(early.Early, work, phase, timed=0)
    assert found["status"] == "incorrect"
    assert "before it has finished" in found["reason"]
    assert max(found["verification"]["errors"].values()) < 1e-5


@pytest.mark.parametrize(("late", "status"), [((1, *9 * (0,)), "ok"), ((1, 0), "incorrect")])
def test_one_that_is_late_now_and_then(work: Workload, late: tuple, status: str) -> None:
    """Once may be the machine."""

    class Uneven(early.Early):
        pass

    Uneven.late = itertools.cycle(late)
    assert verified(Uneven, work, "forward", timed=0)["status"] == status


def test_not_a_number(work: Workload) -> None:
    class Broken(Model):
        def altered(self, found: dict) -> dict:
            found["output"][1, 3, 2] = np.nan
            return found

    found = verified(Broken, work, "forward")
    assert found["verification"]["errors"]["output"] == float("inf")


@pytest.mark.parametrize(("batch", "count"), [(128, 4), (20, 4), (9, 3), (7, 1), (1, 1), (2, 2)])
def test_few_sequences(batch: int, count: int) -> None:
    assert verifying.few(batch) == count


def test_a_batch_of_a_few_sequences_has_their_loss_and_gradients(work: Workload) -> None:
    small, large, order = verifying.repeated(work, seed=3)
    assert large[0].shape == (work.length, work.batch) and sorted(set(order)) == [0, 1, 2, 3]
    assert list(order) != [0, 1, 2, 3] * 3
    assert np.array_equal(large[0], small[0][:, order])
    found, expected = (reference.loss_and_gradients(work.weights(), *k) for k in (large, small))
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    assert all(np.allclose(found[1][name], expected[1][name], atol=1e-14) for name in found[1])
