"""`Recurrent`, a module of PyTorch: numbers, weights that change, copies, graphs, mistakes."""

import shutil

import pytest

from .running import run
from .test_compiled import torch_packages


def processes(**_: object) -> list[tuple[str, ...]]:
    return [("tvm", "run_recurrent.py", torch_packages()), ("tvm", "run_cache.py")]


def found() -> dict:
    return run("tvm", "run_recurrent.py", torch_packages())


def test_numbers_weights_copies_and_graphs() -> None:
    errors = found()["errors"]
    assert len(errors) == 3 * 4 + 2 + 1 + 8 + 5 + 1 + 2
    assert {name: error for name, error in errors.items() if not error < 1e-5} == {}


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_kernels_run_on_the_threads_of_pytorch() -> None:
    assert found()["pool"]


TOLD = {
    "half x": "x has torch.float16",
    "half weights": "a parameter has torch.float16",
    "double weights": "a parameter has torch.float64",
    "elsewhere": "x is on meta, not on the CPU",
    "autocast": "computes in float32",
    "double backward": "gradients of gradients",
    "x written": "modified by an inplace operation: [torch.FloatTensor [5, 13, 13]]",
    "packed sequence": "x is a PackedSequence",
    "x narrow": "x has the shape (5, 13, 12), not (length, batch, 13)",
    "x empty": "x has the shape (0, 13, 13)",
    "one state": "1 initial states, not 2 (h, c)",
    "state of one layer": "initial c has the shape (1, 13, 24), not (2, 13, 24)",
    "no such cell": "no cell 'elman'; there are lstm,",
    "no cell": "a function without @cell(...)",
    "no size": "hidden_size must be a positive integer, not 0",
    "no projection": "cell projected wants a proj_size",
    "bidirectional": "bidirectional=True",
    "to_lstm of a gru": "gru is not the cell of nn.LSTM",
}


@pytest.mark.parametrize("case", TOLD)
def test_what_it_cannot_do_is_one_line(case: str) -> None:
    told = found()["told"][case]
    assert TOLD[case] in told
    assert "\n" not in told


def test_a_library_is_built_once_and_a_damaged_one_again() -> None:
    told = run("tvm", "run_cache.py")
    assert told["made"] == {
        "at once": 1,
        "cut short": 2,
        "altered": 3,
        "gone": 4,
        "left by a build that was stopped": 0,
    }
    assert not any(told["ended"])
