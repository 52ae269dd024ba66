"""From a kernel and its schedule to a shared library with metadata beside it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tvm

from .fingerprint import template_fingerprint
from .kernel import build_module
from .space import vector_unit
from .spec import KernelSpec, Schedule


@dataclass(frozen=True)
class BuildTimes:
    """Seconds of constructing the function, compiling it, and linking the library."""

    schedule: float
    compile: float
    link: float

    @property
    def total(self) -> float:
        """All three together."""
        return self.schedule + self.compile + self.link


def compile_template(
    spec: KernelSpec, schedule: Schedule, target: dict[str, Any], library: Path
) -> BuildTimes:
    """Compile the template into a shared library."""
    start = time.perf_counter()
    module = build_module(spec, schedule, vector_unit(target))
    constructed = time.perf_counter()
    executable = tvm.compile(module, target=tvm.target.Target(target))
    compiled = time.perf_counter()
    library.parent.mkdir(parents=True, exist_ok=True)
    executable.export_library(str(library))
    return BuildTimes(constructed - start, compiled - constructed, time.perf_counter() - compiled)


def build_template(
    spec: KernelSpec,
    schedule: Schedule,
    target: dict[str, Any],
    directory: Path,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write kernel.so and kernel.json into `directory`; returns the metadata written.

    `extra` (tuning seconds and the like) is kept in the metadata.
    """
    times = compile_template(spec, schedule, target, directory / "kernel.so")
    metadata = {
        "kind": "template",
        "spec": asdict(spec),
        "schedule": asdict(schedule),
        "target": target,
        "lanes": vector_unit(target).lanes,
        "tvm": tvm.__version__,
        "template": template_fingerprint(),
        "seconds": asdict(times),
        **(extra or {}),
    }
    write_metadata(directory, metadata)
    return metadata


def write_metadata(directory: Path, metadata: dict[str, Any]) -> None:
    """Write kernel.json."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "kernel.json").write_text(json.dumps(metadata, indent=2) + "\n")
