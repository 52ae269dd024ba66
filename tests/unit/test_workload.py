"""Windows, batches and weights: shapes, content and determinism."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from measurement.workload import BLANK, FRESH, WEIGHT_RANGE, Workload
from tests import tiny


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    tiny.write_corpus(tmp_path)
    return tmp_path


def test_windows_start_every_stride_tokens_and_end_within_the_stream(corpus: Path) -> None:
    tokens, starts = tiny.workload(corpus).windows()
    assert set(np.diff(starts)) == {tiny.STRIDE}
    assert starts[0] == 0
    # Inputs and the target after them: T + 1 tokens; the next start would not have them.
    needed = tiny.BENCHMARK["length"] + 1
    assert starts[-1] + needed <= len(tokens) < starts[-1] + tiny.STRIDE + needed


def test_batches_are_windows_of_the_stream(corpus: Path) -> None:
    work = tiny.workload(corpus)
    tokens, starts = work.windows()
    inputs, targets = next(work.batches())
    length, batch = tiny.BENCHMARK["length"], tiny.BENCHMARK["batch"]
    assert inputs.shape == targets.shape == (length, batch)
    assert inputs.dtype == targets.dtype == np.int64
    assert inputs.flags["C_CONTIGUOUS"] and targets.flags["C_CONTIGUOUS"]
    windows = {tuple(tokens[start : start + length + 1]) for start in starts}
    assert {(*inputs[:, column], targets[-1, column]) for column in range(batch)} <= windows
    assert (targets[:-1] == inputs[1:]).all()


def test_an_epoch_uses_no_window_twice(tmp_path: Path) -> None:
    """With a stream of distinct tokens, a window is known by its first token."""
    tiny.write_corpus(tmp_path)
    np.save(tmp_path / "train.npy", np.arange(200, dtype=np.int32))
    work = tiny.workload(tmp_path)
    starts = work.windows()[1]
    batches = len(starts) // work.batch
    first = [inputs[0] for inputs, _ in itertools.islice(work.batches(), batches + 1)]
    epoch = np.concatenate(first[:batches])
    assert len(set(epoch)) == len(epoch) == batches * work.batch
    assert set(epoch) <= set(starts)
    assert list(epoch) != sorted(epoch)  # shuffled
    assert first[batches].shape == (work.batch,)  # and it goes on


def test_equal_seeds_give_equal_batches_and_weights(corpus: Path) -> None:
    def drawn(seed: int) -> tuple[list, dict]:
        work = tiny.workload(corpus, seed)
        return [batch[0] for batch in itertools.islice(work.batches(), 5)], work.weights()

    batches, weights = drawn(3)
    for seed in (3, 4):
        others, other_weights = drawn(seed)
        assert np.array_equal(batches, others) == (seed == 3)
        for name, value in weights.items():
            assert np.array_equal(value, other_weights[name]) == (seed == 3)


def test_batches_of_a_carried_state_read_parallel_streams_without_a_gap(corpus: Path) -> None:
    """As the tutorial's producer: 200 tokens are 3 streams of 66, which have 16 batches of 4 and a target left."""
    work = tiny.workload(corpus, **tiny.CARRIED)
    tokens = np.load(corpus / "train.npy")
    assert work.epoch_batches() == 16
    epoch = list(itertools.islice(work.batches(), 17))
    inputs, targets = (np.concatenate(part) for part in zip(*epoch[:16], strict=True))
    for stream in range(3):
        own = tokens[stream * 66 : (stream + 1) * 66]
        assert inputs[:, stream].tolist() == own[:64].tolist()
        assert targets[:, stream].tolist() == own[1:65].tolist()
    assert np.array_equal(epoch[16][0], epoch[0][0])  # the next epoch reads the same
    assert {part.dtype for batch in epoch for part in batch} == {np.dtype(np.int64)}
    assert all(part.flags["C_CONTIGUOUS"] for batch in epoch for part in batch)


def test_weights(corpus: Path) -> None:
    weights = tiny.workload(corpus).weights()
    expected = {"embedding": (11, 5), "projection.weight": (4, 11), "projection.bias": (11,)}
    for layer, width in (("lstm.0", 5), ("lstm.1", 4)):
        expected |= {f"{layer}.input": (width, 16), f"{layer}.recurrent": (4, 16)}
        expected[f"{layer}.bias"] = (16,)
    assert {name: value.shape for name, value in weights.items()} == expected
    values = np.concatenate([value.ravel() for value in weights.values()])
    assert values.dtype == np.float32
    assert 0.9 * WEIGHT_RANGE < np.abs(values).max() <= WEIGHT_RANGE
    others = tiny.workload(corpus, weight_range=0.4).weights()
    assert all(np.allclose(4 * weights[name], others[name]) for name in weights)


@pytest.mark.parametrize("shape", [(9, 3, 5), (4, 16, 8), (1, 4, 16)])
def test_dense_inputs_never_come_again(shape: tuple[int, int, int]) -> None:
    """And lie where compiled kernels take them as they are."""
    length, batch, features = shape
    bare = {"features": features, "layers": 1, "hidden": 4, "length": length, "batch": batch}
    seen = set()
    for inputs, targets in itertools.islice(Workload(bare, None, 0).batches(), 3 * FRESH):
        assert (inputs.shape, inputs.dtype, targets) == (shape, np.float32, None)
        assert inputs.flags["C_CONTIGUOUS"] and inputs.ctypes.data % 64 == 0
        assert np.abs(inputs).max() <= 1 and (inputs != 0).all()
        seen.add(inputs.tobytes())
    assert len(seen) == 3 * FRESH


def test_dense_inputs_are_windows_of_one_stream() -> None:
    """Over the end of the buffer, too."""
    work = tiny.classifier("one-way").changed(batch=16, features=4)  # 64 floats a step: aligned
    windows = [inputs.copy() for inputs, _ in itertools.islice(work.batches(), 40)]
    for before, after in itertools.pairwise(windows):
        assert np.array_equal(before[1:], after[:-1])


def test_batches_for_ctc() -> None:
    work = tiny.classifier("ctc")
    _, targets = next(work.batches())
    assert list(work.lengths) == [6, 7, 9]  # from shortest to longest, whole steps
    assert (targets.shape, targets.dtype) == ((3, 3), np.int64)
    assert targets.min() > BLANK and targets.max() < 6


def test_a_check_may_use_a_smaller_batch(corpus: Path) -> None:
    work = Workload(tiny.BENCHMARK, str(corpus), 0, batch=2)
    assert next(work.batches())[0].shape == (4, 2)


@pytest.mark.parametrize("more", [{}, tiny.CARRIED])
def test_as_many_tokens_as_the_plan_wants_make_a_batch(more: dict, tmp_path: Path) -> None:
    """What plan/text.py takes for the shortest text gives a batch: a shorter one would give none for ever."""
    tiny.write_corpus(tmp_path, 15 if more else 11)
    assert next(tiny.workload(tmp_path, **more).batches())[0].shape == (4, 3)
