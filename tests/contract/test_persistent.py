"""Our CUDA kernel compiles, and keeps all in registers."""

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on PATH")
def test_persistent_kernel_compiles_and_spills_nothing(tmp_path: Path) -> None:
    sizes = {"HIDDEN": 128, "UNITS": 8, "ROWS": 22, "THREADS": 192, "CHUNK": 32}
    options = [f"-D{name}={value}" for name, value in sizes.items()]
    source = "scripts/implementations/pytorch/persistent.cu"
    command = ["nvcc", "-arch=sm_90", "-cubin", "-Xptxas", "-v", *options, source]
    command += ["-o", tmp_path / "persistent.cubin"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert printed.count("0 bytes spill stores") == 2
