"""Kernels for CPUs of another architecture, which QEMU runs here: what they compute, never how fast."""

import shutil

import pytest

from kernels.workload import cell_name
from measurement.cells import BUILT_IN

from .running import run

NEEDED = ("qemu-aarch64", "aarch64-linux-gnu-gcc")
MISSING = [name for name in NEEDED if not shutil.which(name)]


@pytest.mark.long
@pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not on PATH")
def test_neon_agrees_with_the_reference() -> None:
    """Every cell, in inference and training, rows divided and units divided among three threads."""
    errors = run("tvm", "run_emulated.py")
    assert {name.split()[0] for name in errors} == set(map(cell_name, BUILT_IN))
    assert sum(name.endswith("inference") for name in errors) == 2 * len(BUILT_IN)
    assert {name: error for name, error in errors.items() if not error < 1e-5} == {}
