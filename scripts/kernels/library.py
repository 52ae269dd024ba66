"""From functions to a shared library with metadata beside it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tvm

from .spec import KernelSpec


def compile_library(
    module: tvm.ir.IRModule, target: tvm.target.Target, library: Path, start: float
) -> tuple[Any, dict[str, float]]:
    """Compile into a shared library, and keep the source of a GPU's part beside it; returns the executable and the seconds
    of scheduling (since `start`, a time of time.perf_counter), compiling and linking."""
    constructed = time.perf_counter()
    executable = tvm.compile(module, target=target)
    compiled = time.perf_counter()
    library.parent.mkdir(parents=True, exist_ok=True)
    executable.export_library(str(library))
    linked = time.perf_counter()
    if device_code := [part.inspect_source() for part in executable.mod.imports]:
        library.with_suffix(".cu").write_text("\n".join(device_code))
    return executable, {
        "schedule": constructed - start,
        "compile": compiled - constructed,
        "link": linked - compiled,
    }


def write_metadata(
    directory: Path,
    kind: str,
    spec: KernelSpec,
    target: dict[str, Any],
    seconds: dict[str, float],
    **more: Any,
) -> dict[str, Any]:
    """Write `directory`/kernel.json; returns what it holds. kind: which runner takes the library."""
    metadata = {
        "kind": kind,
        "spec": asdict(spec),
        "target": target,
        "tvm": tvm.__version__,
        "seconds": seconds,
        **more,
    }
    (directory / "kernel.json").write_text(json.dumps(metadata, indent=2) + "\n")
    return metadata
