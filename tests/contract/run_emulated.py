"""Every cell's kernels, compiled for aarch64 and emulated by QEMU, against the reference: {"<cell> <shape> <quantity>": error} as JSON.

Cross-compiled by GCC to a static program each (emulated_cpu.c), which is called once for each function.
"""

import ctypes
import json
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from os import cpu_count
from pathlib import Path
from typing import Any
from unittest import mock

from kernels.runtime import set_threads

THREADS = 3
set_threads(THREADS)

import numpy as np  # noqa: E402
import tvm  # noqa: E402
import tvm_ffi  # noqa: E402

from kernels import build  # noqa: E402
from kernels.runtime import ALIGNMENT  # noqa: E402
from kernels.target import cpu_target  # noqa: E402
from tests.contract.cell_errors import CELLS, cell_errors  # noqa: E402

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
SHAPES = [(13, 3, 17, 24, 2), (4, 3, 17, 100, 1)]  # rows divided, in two layers; units divided
FFI = Path(tvm_ffi.__file__).with_name("include")


def compile_program(
    module: tvm.ir.IRModule, target: tvm.target.Target, library: Path, _: float
) -> tuple[Any, dict[str, float]]:
    """Instead of a shared library a program that calls one of its functions."""
    library.parent.mkdir(parents=True, exist_ok=True)
    names = [name.name_hint for name in module.functions]
    library.with_name("functions.h").write_text("".join(f"FUNCTION({name})\n" for name in names))
    options = ["-static", "-O1", "-pthread", f"-I{FFI}", f"-I{library.parent}"]
    driver = str(Path(__file__).with_name("emulated_cpu.c"))

    def link(output: str, objects: list[str], **_: Any) -> None:
        subprocess.run([COMPILER, *options, driver, *objects, "-lm", "-o", output], check=True)

    executable = tvm.compile(module, target=target)
    executable.export_library(str(library), fcompile=link)
    return executable, {}


class Emulated:
    """What `tvm.runtime.load_module` gives, by programs of another CPU."""

    def __init__(self, program: str) -> None:
        self._program = program

    def __getitem__(self, name: str) -> Callable[..., None]:
        return partial(self._call, name)

    def _call(self, name: str, *tensors: Any) -> None:
        arrays = [np.from_dlpack(each) for each in tensors]
        header = [len(arrays)]
        places = np.cumsum([64 * 1024] + [-(-a.nbytes // ALIGNMENT) * ALIGNMENT for a in arrays])
        for array, place in zip(arrays, places, strict=False):
            code = {"i": 0, "f": 2}[array.dtype.kind]
            header += [int(place), code, 8 * array.itemsize, array.ndim, *array.shape]
        with tempfile.NamedTemporaryFile() as file:
            memory = np.memmap(file.name, np.uint8, "w+", shape=int(places[-1]) or 1)
            memory[: 8 * len(header)].view(np.int64)[:] = header
            own = [
                memory[place : place + a.nbytes].view(a.dtype).reshape(a.shape)
                for a, place in zip(arrays, places, strict=False)
            ]
            for to, array in zip(own, arrays, strict=True):
                to[...] = array
            memory.flush()
            subprocess.run([EMULATOR, self._program, file.name, str(THREADS), name], check=True)
            for array, found in zip(arrays, own, strict=True):
                # Tensors are views of the runner's arrays, which NumPy gets back for reading only.
                ctypes.memmove(array.ctypes.data, found.ctypes.data, found.nbytes)


def errors(cell: str, shape: tuple[int, ...]) -> dict[str, float]:
    target = cpu_target(THREADS, flags=frozenset(), machine="aarch64")
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(build, "compile_library", compile_program),
        mock.patch.object(tvm.runtime, "load_module", Emulated),
    ):
        return cell_errors(cell, shape, Path(folder), target)


def main() -> None:
    with ProcessPoolExecutor(cpu_count()) as pool:
        jobs = {
            (cell, shape): pool.submit(errors, cell, shape) for cell in CELLS for shape in SHAPES
        }
        found = {
            f"{cell} {shape} {quantity}": error
            for (cell, shape), job in jobs.items()
            for quantity, error in job.result().items()
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
