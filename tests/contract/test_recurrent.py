"""`Recurrent`, a module of PyTorch: numbers, weights that change, copies, graphs, mistakes; the package it comes in."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .running import interpreter, run
from .test_compiled import torch_packages

PACKAGE = """
import sys
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


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip installed the package, from a copy without the workflow; nothing is downloaded."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    shutil.copytree("scripts/kernels", source / "scripts/kernels")
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(name, source)
    python = Path(interpreter("pytorch")).absolute()
    told = subprocess.run(
        [python, "-c", "import setuptools; print(setuptools.__version__)"],
        capture_output=True,
        text=True,
    )
    if told.returncode or int(told.stdout.split(".")[0]) < 77:
        pytest.skip("no setuptools of 77 or later in the environment pytorch")
    pip = [python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"]
    subprocess.run([*pip, "--no-index", "--target", target, source], check=True)
    return target


def ran(installed: Path, folder: Path, *arguments: object) -> str:
    """What a program prints that has the package, PyTorch and TVM, and nothing of this repository."""
    done = subprocess.run(
        [Path(interpreter("tvm")).absolute(), *map(str, arguments)],
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{installed}:{Path(torch_packages()).absolute()}",
            "HOME": str(folder),
        },
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_installs_and_runs_alone(installed: Path, tmp_path: Path) -> None:
    told = ran(installed, tmp_path, "-c", PACKAGE)
    assert told.strip() == str(installed / "recurrent_cells" / "__init__.py")
    assert (installed / "recurrent_cells" / "py.typed").is_file()
    assert list(tmp_path.glob(".cache/recurrent-cells/*/kernel.so"))


ALONE = """
import importlib.metadata, re, sys
sys.modules["torch"] = None
import recurrent_cells
from recurrent_cells import compile_cell, load
assert re.fullmatch(r"[0-9.]+", recurrent_cells.__version__)
assert recurrent_cells.__version__ == importlib.metadata.version("recurrent-cells")
try:
    from recurrent_cells import Recurrent
except ImportError as error:
    print(error)
"""


def test_without_pytorch_one_line_says_what_is_wanted(installed: Path, tmp_path: Path) -> None:
    told = ran(installed, tmp_path, "-c", ALONE)
    assert told == "Recurrent wants PyTorch: pip install torch\n"


def test_the_language_model_learns_the_same_with_either_layer(
    installed: Path, tmp_path: Path
) -> None:
    """Losses of two epochs, a perplexity after each; weights and dropout are drawn alike for both."""
    lines = [" ".join(f"w{(a * b) % 7}" for b in range(9)) for a in range(40)]
    for part in ("train", "valid"):
        (tmp_path / f"ptb.{part}.txt").write_text("\n".join(lines) + "\n")
    sizes = ["--size", 16, "--batch", 4, "--length", 10, "--rate", 1]
    found = []
    for kind in ("lstm", "recurrent"):
        program = Path("examples/word_language_model.py").resolve()
        told = ran(installed, tmp_path, program, tmp_path, "--layers", kind, *sizes)
        numbers = re.findall(r"loss ([\d.]+), validation perplexity ([\d.]+)", told)
        found.append([float(number) for pair in numbers for number in pair])
    lstm, recurrent = found
    assert len(lstm) == 4
    assert lstm[2] < lstm[0]
    assert recurrent == pytest.approx(lstm, rel=2e-3)  # one bias for two; learning is 2e-2
