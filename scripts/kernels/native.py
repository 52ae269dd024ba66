"""Libraries of kernels in a process: loaded without TVM's compiler, and on PyTorch's threads where it has them."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from .cache import stored

_SOURCE = Path(__file__).with_name("pool.c")
_OPENMP = ("libgomp", "libomp", "libiomp5")
_USED = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads", "omp_get_max_threads")
_LAUNCH, _BARRIER = "__TVMBackendParallelLaunch", "__TVMBackendParallelBarrier"


@functools.cache
def _runtime() -> ctypes.CDLL:
    """TVM's run time, which is 1 % of the compiler beside it; importing tvm would load that."""
    found = importlib.util.find_spec("tvm")
    folders = list(found.submodule_search_locations or []) if found else []
    for folder in folders:
        for name in ("libtvm_runtime.so", "libtvm_runtime.dylib"):
            if (library := Path(folder, "lib", name)).is_file():
                import tvm_ffi  # noqa: F401  (its library first: the run time's symbols are in it)

                return ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    raise RuntimeError("TVM's run time is not installed: pip install apache-tvm")


@functools.cache
def load(library: Path, openmp: bool = False) -> Any:
    """The functions of kernel.so, once a process. openmp: run on the threads of the OpenMP library that is loaded."""
    _runtime()
    import tvm_ffi

    module = tvm_ffi.load_module(str(library))
    if openmp and (pool := openmp_pool()):
        own = ctypes.CDLL(str(library))
        for symbol, function in (
            (_LAUNCH, pool.parallel_launch),
            (_BARRIER, pool.parallel_barrier),
        ):
            try:
                place = ctypes.c_void_p.in_dll(own, symbol)
            except ValueError:
                continue  # a kernel without such a loop
            place.value = ctypes.cast(function, ctypes.c_void_p).value
    return module


@functools.cache
def openmp_pool() -> ctypes.CDLL | None:
    """pool.c on this process's OpenMP; None where there is none, or nothing to compile it with: then TVM's own threads."""
    if not (openmp := _loaded_openmp()):
        return None
    compiler = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)

    def make(folder: Path) -> None:
        subprocess.run(
            [compiler, "-O2", "-std=c11", "-shared", "-fPIC", "-o", folder / "pool.so", _SOURCE],
            check=True,
            capture_output=True,
        )

    identity = _SOURCE.read_bytes() + platform.machine().encode()
    name = f"pool-{hashlib.sha256(identity).hexdigest()[:16]}"
    try:
        pool = ctypes.CDLL(str(stored(name, "pool.so", make) / "pool.so"))
        functions = [ctypes.cast(getattr(openmp, name), ctypes.c_void_p) for name in _USED]
    except (AttributeError, OSError, TypeError, subprocess.CalledProcessError):
        return None
    pool.use_openmp(*functions)
    return pool


def _loaded_openmp() -> ctypes.CDLL | None:
    """The OpenMP library of this process, PyTorch's where there are several."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return None
    files = {line.split(maxsplit=5)[-1] for line in lines if line.count("/")}
    named = [file for file in files if Path(file).name.startswith(_OPENMP)]
    named.sort(key=lambda file: "torch" not in file)
    return ctypes.CDLL(named[0]) if named else None
