"""From a kernel and its schedule to a shared library with metadata beside it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tvm

from . import language_model
from .fingerprint import fingerprint
from .kernel import build_function
from .space import most_rows, vector_unit
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
    spec: KernelSpec,
    schedule: Schedule,
    target: dict[str, Any],
    library: Path,
    vocabulary: int | None = None,
) -> BuildTimes:
    """Compile the template into a shared library; with a vocabulary, the rest of the model too."""
    start = time.perf_counter()
    unit = vector_unit(target)
    functions = {"main": build_function(spec, schedule, unit)}
    if vocabulary:
        functions |= language_model.functions(spec, vocabulary, unit, most_rows(target, 4))
    module = tvm.ir.IRModule(functions)
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
    vocabulary: int | None = None,
) -> dict[str, Any]:
    """Write kernel.so and kernel.json into `directory`; returns the metadata written."""
    times = compile_template(spec, schedule, target, directory / "kernel.so", vocabulary)
    metadata = {
        "kind": "template",
        "spec": asdict(spec),
        "schedule": asdict(schedule),
        "target": target,
        "lanes": vector_unit(target).lanes,
        "tvm": tvm.__version__,
        "template": fingerprint("template-tuned", target),
        "seconds": asdict(times),
    }
    write_metadata(directory, metadata)
    return metadata


def write_metadata(directory: Path, metadata: dict[str, Any]) -> None:
    """Write kernel.json."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "kernel.json").write_text(json.dumps(metadata, indent=2) + "\n")
