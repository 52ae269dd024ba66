"""The machine's compilation target, derived from its CPU flags, as a plain dict."""

from __future__ import annotations

import platform
from collections.abc import Set
from pathlib import Path
from typing import Any

from .spec import Unsupported

# LLVM's own guess of the CPU is wrong on machines newer than it (measured with TVM 0.27), so the
# name is chosen by the features that matter here. Most demanding first.
_X86_CPUS: tuple[tuple[str, frozenset[str]], ...] = (
    ("sapphirerapids", frozenset({"avx512f", "avx512vl", "amx_tile", "avx512_fp16"})),
    ("znver4", frozenset({"avx512f", "avx512vl", "avx512_bf16", "avx512_vbmi2", "sse4a"})),
    ("icelake-server", frozenset({"avx512f", "avx512vl", "avx512_vbmi2", "avx512_vnni"})),
    ("cascadelake", frozenset({"avx512f", "avx512vl", "avx512_vnni"})),
    ("skylake-avx512", frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})),
    ("x86-64-v3", frozenset({"avx2", "fma", "bmi2"})),
    ("x86-64", frozenset()),
)


def cpu_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Feature flags of the first CPU (`flags` on x86, `Features` on ARM), empty if unknown."""
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        return frozenset()
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


def cpu_target(
    threads: int, flags: Set[str] | None = None, machine: str | None = None
) -> dict[str, Any]:
    """TVM target of this machine (or of the given flags) for a number of threads.

    The dict is what `tvm.target.Target` takes; records keep it as it is.
    """
    flags = cpu_flags() if flags is None else flags
    machine = platform.machine() if machine is None else machine
    target: dict[str, Any] = {"kind": "llvm", "num-cores": threads}
    if machine in ("x86_64", "AMD64"):
        target["mcpu"] = next(name for name, needed in _X86_CPUS if needed <= flags)
    elif machine in ("aarch64", "arm64"):
        target["mtriple"] = "aarch64-linux-gnu"
        target["mcpu"] = "generic"
        target["mattr"] = ["+neon"]
    else:
        raise Unsupported(f"no CPU target is known for the architecture {machine!r}")
    return target


def cuda_target() -> dict[str, Any]:
    """CUDA target of this machine's GPU, of an A100 where there is none, with the limits that every
    architecture since sm_70 has."""
    import tvm

    device = tvm.cuda(0)
    version = device.compute_version if device.exist else "8.0"
    return {
        "kind": "cuda",
        "arch": "sm_" + version.replace(".", ""),
        "max_threads_per_block": 1024,
        "max_shared_memory_per_block": 49152,
        "thread_warp_size": 32,
        "host": {"kind": "llvm"},
    }


def vector_registers(target: dict[str, Any]) -> tuple[int, int]:
    """(float32 lanes, number) of the target's vector registers."""
    if target["kind"] != "llvm":
        raise Unsupported(f"the CPU template does not run on {target['kind']!r}")
    mcpu = target.get("mcpu", "")
    if mcpu in ("x86-64-v3",):
        return 8, 16
    if mcpu == "x86-64":
        return 4, 16
    if "aarch64" in target.get("mtriple", ""):
        return 4, 32
    return 16, 32
