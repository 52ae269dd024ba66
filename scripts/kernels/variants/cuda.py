"""The step functions for CUDA, by dlight's ready-made GPU schedules.

Compiling needs no GPU: the library carries the kernels' CUDA source or PTX, and running it needs
one. The functions are those of te_lstm.split_step_modules.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import tvm
from tvm.s_tir import dlight

from ..library import compile_library, write_metadata
from ..spec import KernelSpec
from .te_lstm import split_step_modules


def step_functions(spec: KernelSpec) -> tvm.ir.IRModule:
    """All functions of a step, without a schedule."""
    return tvm.ir.IRModule(
        {
            name: module["main"].with_attr("global_symbol", name)
            for size in sorted(set(spec.input_sizes()))
            for name, module in split_step_modules(spec, size).items()
        }
    )


def scheduled_module(spec: KernelSpec, target: dict[str, Any]) -> tvm.ir.IRModule:
    """All functions of a step, each scheduled by the first dlight rule that fits."""
    rules = (
        dlight.gpu.Matmul(),
        dlight.gpu.GEMV(),
        dlight.gpu.Reduction(),
        dlight.gpu.GeneralReduction(),
        dlight.gpu.Fallback(),
    )
    with tvm.target.Target(target, host="llvm"):
        return dlight.ApplyDefaultSchedule(*rules)(step_functions(spec))


def build_cuda(spec: KernelSpec, target: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Write kernel.so, kernel.json and kernel.cu (the kernels' source); returns the metadata."""
    start = time.perf_counter()
    module, cuda = scheduled_module(spec, target), tvm.target.Target(target, host="llvm")
    executable, seconds = compile_library(module, cuda, directory / "kernel.so", start)
    sources = [imported.inspect_source() for imported in executable.mod.imports]
    (directory / "kernel.cu").write_text("\n".join(sources))
    return write_metadata(directory, "split-steps", spec, target, seconds)
