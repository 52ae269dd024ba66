"""The variants without a template: default rules, untuned, and unrolled.

A time loop whose steps depend on each other is beyond MetaSchedule's rules, so what they tune
is what is natural to hand them: one step of one layer. The host calls it once for each time step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm
from tvm.s_tir import meta_schedule as ms

from ..library import compile_library, write_metadata
from ..search.stored import open_json_database
from ..spec import KernelSpec
from .intrinsics import import_only_x86_intrinsics
from .pool_builder import PoolBuilder
from .te_lstm import in_memory_order, step_module, unrolled_module

TRIALS_PER_ITERATION = 32
Functions = Callable[[KernelSpec], dict[str, tvm.ir.IRModule]]
"""The functions of a step by name, without a schedule."""


@dataclass(frozen=True)
class AutomaticReport:
    """What a tuning run with default rules did. Wall seconds: start = importing tensor intrinsics,
    which is not tuning."""

    trials: int
    new_trials: int
    start_seconds: float
    tuning_seconds: float


def step_functions(spec: KernelSpec) -> dict[str, tvm.ir.IRModule]:
    """The functions by name: one `step_K` for each different input size."""
    return {f"step_{k}": step_module(spec, k) for k in sorted(set(spec.input_sizes()))}


def tune_default_rules(
    spec: KernelSpec,
    target: dict[str, Any],
    trials: int,
    directory: Path,
    seed: int = 1,
    functions: Functions = step_functions,
    rules: str = "post-order-apply",
) -> AutomaticReport:
    """Tune with MetaSchedule's own rules until the database holds `trials` records. rules: those of the target, unless
    they are named."""
    begin = time.perf_counter()
    import_only_x86_intrinsics()
    imported = time.perf_counter() - begin
    database = open_json_database(directory)
    known = len(database)
    if known < trials:
        named = functions(spec)
        share = (trials - known) // len(named)
        evaluator = ms.runner.EvaluatorConfig(
            number=1, repeat=3, min_repeat_ms=20, enable_cpu_cache_flush=False
        )
        with PoolBuilder.workers(spec.threads) as builder:
            ms.tune_tir(
                tvm.ir.IRModule(
                    {
                        name: module["main"].with_attr("global_symbol", name)
                        for name, module in named.items()
                    }
                ),
                tvm.target.Target(target),
                str(directory),
                max_trials_global=trials - known,
                num_trials_per_iter=max(1, min(TRIALS_PER_ITERATION, share)),
                builder=builder,
                runner=ms.runner.LocalRunner(timeout_sec=60, evaluator_config=evaluator),
                database=database,
                num_tuning_cores=spec.threads,
                seed=seed,
                space=rules,
            )
    return AutomaticReport(
        trials=len(database),
        new_trials=len(database) - known,
        start_seconds=imported,
        tuning_seconds=time.perf_counter() - begin - imported,
    )


def build_steps(
    spec: KernelSpec,
    target: dict[str, Any],
    directory: Path,
    database_directory: Path | None = None,
    functions: Functions = step_functions,
) -> dict[str, Any]:
    """Write kernel.so and kernel.json of the step functions; returns the metadata.

    With a database, each function takes the best schedule found there (`default-rules`). Without,
    LLVM alone optimises plain loops (`untuned`).
    """
    import_only_x86_intrinsics()
    tvm_target = tvm.target.Target(target)
    start = time.perf_counter()
    made = {}
    database = None if database_directory is None else open_json_database(database_directory)
    for name, module in functions(spec).items():
        if database is None:
            scheduled = in_memory_order(module)
        else:
            named = tvm.ir.IRModule({"main": module["main"].with_attr("global_symbol", name)})
            normal = ms.tune_context._normalize_mod(named["main"])
            scheduled = database.query_ir_module(normal, tvm_target, name)
            if scheduled is None:
                raise RuntimeError(f"no trial of {name} could be built and run")
        made[name] = scheduled["main"].with_attr("global_symbol", name)
    module = tvm.ir.IRModule(made)
    _, seconds = compile_library(module, tvm_target, directory / "kernel.so", start)
    return write_metadata(directory, "steps", spec, target, seconds)


def build_unrolled(spec: KernelSpec, target: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Write kernel.so and kernel.json of the unrolled network; returns the metadata.

    The time grows with the square of length x depth: run it in a process with a time limit.
    """
    start = time.perf_counter()
    module = in_memory_order(unrolled_module(spec))
    library = directory / "kernel.so"
    _, seconds = compile_library(module, tvm.target.Target(target), library, start)
    return write_metadata(directory, "unrolled", spec, target, seconds)
