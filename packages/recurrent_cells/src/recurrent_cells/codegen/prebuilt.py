"""Kernels that a wheel brings along, for machines without a C compiler: LSTM and GRU in float32."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path

from ..cells import CELLS
from .library import FLAGS, compile_library, compiler, cpu_flags
from .source import c_source

FOLDER = Path(__file__).parent / "prebuilt"

NAMES = ("lstm", "gru")

LEVELS: dict[str, dict[str, set[str]]] = {
    "x86_64": {
        "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
        "x86-64-v3": {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
    },
    "aarch64": {"armv8-a": set()},
}
"""Of an architecture, -march and the CPU flags that it needs, the best first."""


def _file(folder: Path, name: str, source: str, level: str) -> Path:
    return folder / f"{name}-{hashlib.sha256(source.encode()).hexdigest()[:20]}-{level}.so"


def build(folder: Path) -> None:
    """Compile them for all levels of this architecture."""
    for name in NAMES:
        source = c_source(CELLS[name])
        for level in LEVELS.get(platform.machine(), {}):
            command = [*compiler(), *FLAGS, f"-march={level}"]
            compile_library(command, source, _file(folder, name, source, level))


def find(source: str, name: str) -> Path | None:
    """The one of a source that this CPU can run."""
    for level, needed in LEVELS.get(platform.machine(), {}).items():
        path = _file(FOLDER, name, source, level)
        if path.exists() and needed <= cpu_flags():
            return path
    return None
