"""Compiling C to a shared library, once for a machine: found on disk by every later process."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

FLAGS = (
    "-O3",
    "-std=gnu11",
    "-ffp-contract=fast",  # a product and a sum are one instruction
    "-fno-math-errno",
    "-fno-inline-small-functions",  # a quarter less time to compile, and the kernels are no slower
    "-fno-inline-functions-called-once",
    "-shared",
    "-fPIC",
    "-pthread",
)

COMPILERS = ("gcc", "cc", "clang")
"""clang 14 is as good with AVX-512, but with AVX2's 16 registers it keeps sums in memory, which takes twice as long."""


SEAL = hashlib.sha256().digest_size
"""Bytes of the digest at a library's end."""


class CompilerError(RuntimeError):
    """No compiler, or one that fails, told in one line."""


def compiler() -> list[str]:
    """The C compiler: $CC, else the first that is installed."""
    named = os.environ.get("CC", "")
    if shutil.which(named):  # with blanks in its path
        return [named]
    if given := _words("CC", named):
        if shutil.which(given[0]) is None:
            raise CompilerError(f"$CC names {given[0]}, which is not installed")
        return given
    for name in COMPILERS:
        if found := shutil.which(name):
            return [found]
    raise CompilerError("a C compiler is needed: install gcc or clang, or set $CC")


def _words(name: str, given: str) -> list[str]:
    try:
        return shlex.split(given)
    except ValueError as error:
        raise CompilerError(f"${name} is {given!r}: {error}") from None


def native_flags() -> list[str]:
    """What makes a compiler use all instructions of this machine; $RECURRENT_CELLS_CFLAGS instead, where it is set."""
    if given := os.environ.get("RECURRENT_CELLS_CFLAGS"):
        return _words("RECURRENT_CELLS_CFLAGS", given)
    return ["-mcpu=native" if platform.machine() in ("aarch64", "arm64") else "-march=native"]


def library(source: str, name: str) -> ctypes.CDLL:
    """The source, compiled and loaded; where there is no compiler, as one that was there before has compiled it."""
    flags = [*FLAGS, *native_flags(), f"-DSECOND_LEVEL={second_level()}"]
    start = f"{name}-{_digest(source, *flags, _machine())}"
    try:
        own = compiler()
    except CompilerError:
        with suppress(OSError):
            for path in next(_folders()).glob(f"{start}-*.so"):
                if _is_whole(path):
                    return ctypes.CDLL(str(path))
        raise
    file = f"{start}-{_digest(*own[1:], _version(tuple(own)))}.so"
    refused = ""
    for folder in _folders():
        path = folder / file
        try:
            if not _is_whole(path):
                compile_library([*own, *flags], source, path)
            return ctypes.CDLL(str(path))
        except OSError as error:  # a folder that cannot be written, or from which nothing may run
            refused = str(error)
    raise CompilerError(f"no folder for compiled kernels: {refused}; set $RECURRENT_CELLS_CACHE")


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:20]


def _is_whole(path: Path) -> bool:
    """Whether a library is there and as it was written: of one that was cut short, the process would die without a word."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    return content[-SEAL:] == hashlib.sha256(content[:-SEAL]).digest()


def _folders() -> Iterator[Path]:
    if given := os.environ.get("RECURRENT_CELLS_CACHE"):
        yield Path(given).expanduser()
    else:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        yield Path(home, "recurrent-cells")
    yield Path(tempfile.mkdtemp(prefix="recurrent-cells-"))


def compile_library(command: list[str], source: str, path: Path) -> None:
    """Written beside its place and moved there, so that no process sees a half of it; with its digest at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder, "kernel.so")
        text = Path(folder, "kernel.c")
        text.write_text(source)
        ran = subprocess.run(
            [*command, str(text), "-o", str(made), "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            errors = [line for line in ran.stderr.splitlines() if "error" in line]
            told = (errors or ran.stderr.splitlines() or ["no message"])[0]
            raise CompilerError(f"{command[0]} failed: {told}")
        if not made.exists():
            raise CompilerError(f"{command[0]} is no C compiler: it wrote no library")
        content = made.read_bytes()
        made.write_bytes(content + hashlib.sha256(content).digest())
        os.replace(made, path)


@functools.cache
def _version(command: tuple[str, ...]) -> str:
    ran = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return ran.stdout


@functools.cache
def _machine() -> str:
    """What `native` stands for."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = ("model name", "flags", "Features", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(names)))


@functools.cache
def cpu_flags() -> frozenset[str]:
    """Instructions of this machine by the names of Linux."""
    words = {"flags", "Features"}
    lines = (line.partition(":") for line in _machine().splitlines())
    return frozenset(
        flag for name, _, own in lines if name.strip() in words for flag in own.split()
    )


@functools.cache
def second_level() -> int:
    """Bytes of a core's second-level cache; 1 MB where the system does not tell."""
    for folder in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            if (folder / "level").read_text().strip() == "2":
                return int((folder / "size").read_text().strip().removesuffix("K")) * 1024
        except (OSError, ValueError):
            continue
    return 1 << 20


@functools.cache
def openmp() -> tuple[int, int, int] | None:
    """Addresses of GOMP_parallel, omp_get_thread_num and omp_get_num_threads in the OpenMP library that this process has
    loaded, PyTorch's where there are several: a second pool of threads would compete with it. None where there is none."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return None
    files = {line.split(maxsplit=5)[-1] for line in lines if line.count("/")}
    named = [one for one in files if Path(one).name.startswith(("libgomp", "libomp", "libiomp5"))]
    for path in sorted(named, key=lambda one: "torch" not in one):
        loaded = ctypes.CDLL(path)
        try:
            names = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
            found = [ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value for name in names]
        except AttributeError:
            continue
        return found[0] or 0, found[1] or 0, found[2] or 0
    return None
