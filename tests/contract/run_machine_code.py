"""Compile kernels for AVX2; print what touches the stack, as JSON.

    python run_machine_code.py "<cell> <what the cores divide>"|"language model"|"spilling" ...

{argument: {"<function>": [innermost loops with multiply-adds, those that read or write the stack]}}. Nothing is run: the code is
LLVM's text.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count
from pathlib import Path
from typing import Any
from unittest import mock

from kernels.runtime import set_threads

THREADS = 2
set_threads(THREADS)

import tvm  # noqa: E402

from kernels import build  # noqa: E402
from kernels.search.space import default_schedule  # noqa: E402
from kernels.spec import KernelSpec, Schedule  # noqa: E402
from kernels.target import cpu_target  # noqa: E402
from tests.contract.machine_code import innermost_loops  # noqa: E402

TARGET = cpu_target(THREADS, flags=frozenset({"avx2", "fma", "bmi2"}), machine="x86_64")
# Batches: rows enough for tiles of every size, in panels too large for the stack; few rows.
DIVIDED = {"rows": 64, "units": 6}
SIZE, LENGTH, VOCABULARY = 64, 3, 200

Counts = dict[str, list[int]]


def loops(made: Callable[[Path], Any]) -> Counts:
    """Of the functions that made(folder) would compile into a library."""
    found: Counts = {}

    def read(module: tvm.ir.IRModule, target: tvm.target.Target, *_: Any) -> tuple[None, dict]:
        found.update({name.name_hint: [0, 0] for name in module.functions})
        assembly = tvm.compile(module, target=target).mod.inspect_source("asm")
        for loop in innermost_loops(assembly):
            if loop.multiply_adds:
                counts = found[loop.function.removesuffix("_compute_")]
                counts[0] += 1
                counts[1] += bool(loop.stack)
        return None, {}

    with tempfile.TemporaryDirectory() as folder, mock.patch.object(build, "compile_library", read):
        made(Path(folder))
    return found


def of_cell(name: str, divided: str) -> Counts:
    """Of a cell's functions, in inference and in training."""
    spec = KernelSpec(DIVIDED[divided], LENGTH, SIZE, SIZE, 1, THREADS, name)
    given = spec, default_schedule(spec, TARGET), TARGET
    return loops(lambda to: build.build_template(*given, to)) | loops(
        lambda to: build.build_training(*given, to)
    )


def counted(kernel: str) -> Counts:
    """Of a cell, of all functions of an LSTM's inference and training step, or of an LSTM's inference by a tile of more sums
    than there are registers for."""
    if kernel == "language model":
        spec = KernelSpec(DIVIDED["rows"], LENGTH, SIZE, SIZE, 2, THREADS)
        given = spec, default_schedule(spec, TARGET), TARGET
        return loops(lambda to: build.build_template(*given, to, VOCABULARY))
    if kernel == "spilling":
        spec, tile = KernelSpec(DIVIDED["rows"], LENGTH, SIZE, SIZE, 1, THREADS), Schedule(12, 4)
        return loops(lambda to: build.build_template(spec, tile, TARGET, to))
    return of_cell(*kernel.split())


def main() -> None:
    with ProcessPoolExecutor(cpu_count()) as pool:
        found = pool.map(counted, sys.argv[1:])
        print(json.dumps(dict(zip(sys.argv[1:], found, strict=True))))


if __name__ == "__main__":
    main()
