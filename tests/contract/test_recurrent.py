"""`Recurrent`, a module of PyTorch: numbers, weights that change, copies, graphs, mistakes; the package it comes in."""

import shutil
import subprocess
from pathlib import Path

import pytest

from .running import interpreter, run
from .test_compiled import torch_packages

PACKAGE = """
import sys
sys.path.append(sys.argv[1])
import torch
from recurrent_cells import Recurrent, cell, tanh

@cell(gates="g", states="h")
def elman(g):
    return tanh(g)

layer, x = Recurrent(elman, 3, 4), torch.rand(2, 5, 3)
wanted = torch.nn.RNN(3, 4)
with torch.no_grad():
    wanted.weight_ih_l0.copy_(layer.weight_input_l0.t())
    wanted.weight_hh_l0.copy_(layer.weight_recurrent_l0.t())
    wanted.bias_ih_l0.copy_(layer.bias_l0)
    wanted.bias_hh_l0.zero_()
    assert torch.allclose(layer(x)[0], wanted(x)[0], atol=1e-6)
print(sys.modules["recurrent_cells"].__file__)
"""


def processes(**_: object) -> list[tuple[str, ...]]:
    return [("tvm", "run_recurrent.py", torch_packages()), ("tvm", "run_cache.py")]


def found() -> dict:
    return run("tvm", "run_recurrent.py", torch_packages())


def test_numbers_weights_copies_and_graphs() -> None:
    errors = found()["errors"]
    assert len(errors) == 3 * 4 + 8 + 5 + 1 + 1
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


def test_the_package_installs_and_runs_alone(tmp_path: Path) -> None:
    """A wheel of a copy without the workflow, by the setuptools that is there; nothing is downloaded."""
    source, target = tmp_path / "source", tmp_path / "target"
    shutil.copytree("scripts/kernels", source / "scripts/kernels")
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(name, source)
    python = interpreter("pytorch")
    version = subprocess.run(
        [python, "-c", "import setuptools; print(setuptools.__version__)"],
        capture_output=True,
        text=True,
    )
    if version.returncode or int(version.stdout.split(".")[0]) < 77:
        pytest.skip("no setuptools of 77 or later in the environment pytorch")
    pip = [python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"]
    subprocess.run([*pip, "--no-index", "--target", target, source], check=True)
    ran = subprocess.run(
        [interpreter("tvm"), "-c", PACKAGE, torch_packages()],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(target), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == str(target / "recurrent_cells" / "__init__.py")
    assert (target / "recurrent_cells" / "py.typed").is_file()
    assert list(tmp_path.glob(".cache/recurrent-cells/*/kernel.so"))
