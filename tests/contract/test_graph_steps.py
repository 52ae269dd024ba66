"""TVM's step by MetaSchedule's rules for CUDA: its host's part, and that a GPU's compiler takes it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from .running import run


def found() -> dict:
    return run("tvm", "run_graph_steps.py")


def processes(**_: object) -> list[tuple[str, ...]]:
    return [("tvm", "run_graph_steps.py")]


def test_all_steps_agree_with_the_reference() -> None:
    assert found()["error"] < 1e-5


def test_step_is_cuda() -> None:
    assert "__global__" in found()["cuda"]


@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on PATH")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_step_compiles(tmp_path: Path, architecture: str) -> None:
    source = tmp_path / "step.cu"
    source.write_text(found()["cuda"])
    command = ["nvcc", f"-arch={architecture}", "-cubin", source, "-o", tmp_path / "step.cubin"]
    subprocess.run(command, check=True)


@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on PATH")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_persistent_kernel_compiles_and_spills_nothing(tmp_path: Path, architecture: str) -> None:
    sizes = {"HIDDEN": 128, "UNITS": 8, "ROWS": 22, "THREADS": 192, "CHUNK": 32}
    options = [f"-D{name}={value}" for name, value in sizes.items()]
    source = "scripts/implementations/pytorch/persistent.cu"
    command = ["nvcc", f"-arch={architecture}", "-cubin", "-Xptxas", "-v", *options, source]
    command += ["-o", tmp_path / "persistent.cubin"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert printed.count("0 bytes spill stores") == 2
