"""The step functions for CUDA, by dlight's ready-made GPU schedules.

Scheduling needs no GPU: without one the library carries the kernels' CUDA source, with one what nvcc made of it. The
functions are those of te_lstm.split_step_functions.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import tvm
from tvm.s_tir import dlight

from measurement.contract import Unsupported

from ..library import compile_library, write_metadata
from ..spec import KernelSpec
from ..target import cuda_target
from .te_lstm import split_step_functions

# TVM's own default asks NVRTC, by a package that it does not bring; and both compilers for fast mathematics, with which
# tanh is one approximate instruction, off by 5e-4.
COMPILER = {"TVM_CUDA_COMPILE_MODE": "nvcc", "TVM_CUDA_NVCC_NO_FAST_MATH": "1"}


def target() -> dict[str, Any]:
    """What to compile for, by nvcc as it is to be called."""
    os.environ.update(COMPILER)
    return cuda_target()


def require_gpu() -> None:
    """Raise Unsupported where nothing can be built for a GPU and run on it."""
    if not tvm.cuda(0).exist:
        raise Unsupported("TVM finds no cuda device")
    require_compiler()


def require_compiler() -> None:
    """Raise Unsupported where a GPU's kernels would have to be compiled and cannot be."""
    if tvm.cuda(0).exist and not shutil.which("nvcc"):
        raise Unsupported("there is no nvcc on PATH to compile kernels with")


def step_functions(spec: KernelSpec) -> tvm.ir.IRModule:
    """All functions of a step, without a schedule."""
    return tvm.ir.IRModule(
        {
            name: module["main"].with_attr("global_symbol", name)
            for name, module in split_step_functions(spec).items()
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
    with tvm.target.Target(target):
        return dlight.ApplyDefaultSchedule(*rules)(step_functions(spec))


def build_cuda(spec: KernelSpec, target: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Write kernel.so, kernel.json and kernel.cu (the kernels' source); returns the metadata."""
    require_compiler()
    start = time.perf_counter()
    module, cuda = scheduled_module(spec, target), tvm.target.Target(target)
    _, seconds = compile_library(module, cuda, directory / "kernel.so", start)
    return write_metadata(directory, "split-steps", spec, target, seconds)
