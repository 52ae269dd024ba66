"""Training runs: perplexity, checkpoints, and what reports conclude from them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from measurement import reference, training
from measurement.workload import Workload
from reporting import training as reported
from tests import tiny
from tests.plain import loop

PROTOCOL = {"batches": 20, "points": [7, 15, 40], "checkpoint_batches": 4}


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    """16 batches an epoch: a run of 20 begins a second one."""
    tiny.write_corpus(tmp_path)
    return tiny.workload(tmp_path, **tiny.CARRIED)


def train(
    workload: Workload, path: Path, until: Callable[[str], None] = print, key: str = "a run"
) -> dict:
    """What a run of the plain style finds; `until` is called with every batch's message and may end it."""

    def build(workload: Workload, weights: dict) -> loop.Model:
        return loop.build(workload, weights, "cpu", "training")

    checkpoint = training.Checkpoint(str(path), key)
    weights = workload.weights()
    return training.train(build, workload, weights, PROTOCOL, checkpoint, until)[1]


class Killed(BaseException):
    """What nothing in a worker catches."""


def killed_at(batch: int) -> Callable[[str], None]:
    def progress(message: str) -> None:
        if message.startswith(f"batch {batch}/"):
            raise Killed

    return progress


def test_perplexity_is_that_of_the_whole_stream_in_one_go(workload: Workload) -> None:
    weights, streams = workload.weights(), workload.streams("valid")
    assert len(streams) > training.CHUNK + 1
    logits = reference.output(weights, streams[:-1], "ce-sum")
    loss, _ = reference.cross_entropy(logits, streams[1:])
    assert training.perplexity(weights, workload, "valid") == pytest.approx(np.exp(loss), rel=1e-6)
    assert np.exp(loss) == pytest.approx(11, rel=0.05)  # nothing learnt: any of the vocabulary


def test_run_has_a_curve(workload: Workload, tmp_path: Path) -> None:
    found = train(workload, tmp_path / "run.npz")
    assert [point["batch"] for point in found["curve"]] == [7, 15, 20]
    assert found["epoch_batches"] == 16 and found["resumed_at"] == []
    assert all(point["train_s"] > 0 for point in found["curve"])
    # Random words teach nothing; a sum over steps taken for a mean would give 11 to the power of 4.
    assert found["curve"][-1]["train_perplexity"] == pytest.approx(11, rel=0.1)


@pytest.mark.parametrize("batch", [9, 17])
def test_killed_run_ends_as_an_uninterrupted_one(workload: Workload, tmp_path, batch: int) -> None:
    whole = train(workload, tmp_path / "whole.npz")
    with pytest.raises(Killed):
        train(workload, tmp_path / "run.npz", killed_at(batch))
    found = train(workload, tmp_path / "run.npz")
    assert found["weights_sha256"] == whole["weights_sha256"]
    untimed = [[{**point, "train_s": 0} for point in each["curve"]] for each in (found, whole)]
    assert untimed[0] == untimed[1]
    assert found["resumed_at"] == [{9: 8, 17: 16}[batch]]
    seconds = [point["train_s"] for point in found["curve"]]
    assert seconds == sorted(seconds)


def test_checkpoint_of_another_run_is_none(workload: Workload, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        train(workload, tmp_path / "run.npz", killed_at(9))
    assert train(workload, tmp_path / "run.npz", key="another run")["resumed_at"] == []


@pytest.mark.parametrize("share", [0.0, 0.7])
def test_damaged_checkpoint_is_none(workload: Workload, tmp_path: Path, share: float) -> None:
    path = tmp_path / "run.npz"
    with pytest.raises(Killed):
        train(workload, path, killed_at(9))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert train(workload, path)["resumed_at"] == []


def row(*perplexities: float, epoch: int = 300) -> dict:
    """A row with a point every 100 batches."""
    curve = [
        {"batch": 100 * number, "valid_perplexity": value, "train_perplexity": value, "train_s": 1}
        for number, value in enumerate(perplexities, start=1)
    ]
    return {"curve": curve, "epoch_batches": epoch}


def test_agreement_is_decided_by_the_point_that_is_nearest_to_its_bound() -> None:
    rows = [row(500, 300, 200), row(500.5, 309, 201), row()]
    points = [{"batch": 100, "within": 0.0009}, {"batch": 200, "within": 0.04}]
    found = reported.agreement(rows, points)
    assert (found["verdict"], found["worst"]["batch"]) == ("does not hold", 100)
    found = reported.agreement(rows, points[1:])
    assert (found["verdict"], found["worst"]["batch"]) == ("holds", 200)
    assert found["worst"]["spread"] == pytest.approx(0.03)
    assert reported.agreement(rows[:1], points)["verdict"] == "not measured"


def test_between_two_points_the_wider_bound_counts() -> None:
    """What is settled at the first one may be unsettled on the way to the next."""
    bounds = {10: 0.01, 100: 0.2, 500: 0.1}
    points = [{"batch": batch, "within": within} for batch, within in bounds.items()]
    asked = {5: 0.01, 10: 0.01, 60: 0.2, 100: 0.2, 400: 0.2, 500: 0.1, 900: 0.1}
    assert {batch: reported.bound_at(batch, points) for batch in asked} == asked


def test_known_perplexity_is_that_of_a_whole_epoch() -> None:
    known = {"valid_perplexity": 180, "train_perplexity": 270, "within": 0.05, "source": "a log"}
    assert reported.reached([row(500, 300, 185)], known)["verdict"] == "holds"
    assert reported.reached([row(500, 300, 200)], known)["verdict"] == "does not hold"
    assert reported.reached([row(500, 300)], known)["verdict"] == "not measured"
    assert reported.reached([row(500, 300, 185)], None) is None
