"""What kernels are compiled for: the machine's CPU by its flags and caches, as a plain dict, and what a core of it has.

The dict is what `tvm.target.Target` takes; databases and records keep it as it is. TVM leaves what is called `feature.` to
its users: there the caches stand.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measurement import machine as host
from measurement.contract import Unsupported

CACHES = "feature.caches"
KB = 1024


@dataclass(frozen=True)
class Kind:
    """A kind of CPU: all that the template knows of an instruction set is its row.

    architecture: as platform.machine() names it; mcpu: LLVM's name; flags: by which it is known, all of them; lanes: float32 values
    of a vector register, of which there are `registers`; caches: bytes of the first, second and shared one, where a
    machine does not tell its own; more: the rest of TVM's target.
    """

    architecture: str
    mcpu: str
    flags: frozenset[str]
    lanes: int
    registers: int
    caches: tuple[int, int, int]
    more: Mapping[str, Any] = field(default_factory=dict)


def _kind(
    architecture: str,
    mcpu: str,
    flags: str,
    vectors: tuple[int, int],
    caches: tuple[int, int, int],
    **more: Any,
) -> Kind:
    """caches: in KB."""
    first, second, shared = (size * KB for size in caches)
    return Kind(
        architecture, mcpu, frozenset(flags.split()), *vectors, (first, second, shared), more
    )


# LLVM's own guess of the CPU is wrong on machines newer than it (measured with TVM 0.27), so the
# name is chosen by the features that matter here. Of each architecture most demanding first.
KINDS = (
    _kind("x86_64", "sapphirerapids", "avx512f avx512vl amx_tile avx512_fp16", (16, 32), (48, 2048, 32768)),
    _kind("x86_64", "znver4", "avx512f avx512vl avx512_bf16 avx512_vbmi2 sse4a", (16, 32), (32, 1024, 32768)),
    _kind("x86_64", "icelake-server", "avx512f avx512vl avx512_vbmi2 avx512_vnni", (16, 32), (48, 1280, 24576)),
    _kind("x86_64", "cascadelake", "avx512f avx512vl avx512_vnni", (16, 32), (32, 1024, 16384)),
    _kind("x86_64", "skylake-avx512", "avx512f avx512bw avx512cd avx512dq avx512vl", (16, 32), (32, 1024, 16384)),
    _kind("x86_64", "x86-64-v3", "avx2 fma bmi2", (8, 16), (32, 512, 16384)),
    _kind("x86_64", "x86-64", "", (4, 16), (32, 256, 8192)),
    _kind("aarch64", "generic", "", (4, 32), (64, 512, 8192), mtriple="aarch64-linux-gnu", mattr=["+neon"]),
)  # fmt: skip

_SAME = {"AMD64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True)
class Core:
    """What a core of the target has: vector registers of so many float32 lanes, bytes of its first- and second-level cache
    and of the one that all cores share; avx512: whether AVX-512's rounding and scaling by powers of two exist."""

    lanes: int
    registers: int
    first: int
    second: int
    shared: int
    avx512: bool = False


def cpu_flags() -> frozenset[str]:
    """Feature flags of this machine's CPU, empty if unknown."""
    return frozenset(host.cpu_flags().split())


def cpu_caches(
    folder: Path = Path("/sys/devices/system/cpu/cpu0/cache"),
) -> tuple[int, int, int] | None:
    """Bytes of the first CPU's data caches of the first, the second and the last level; None where the system does not
    tell two levels of them."""
    found: dict[int, int] = {}
    for index in sorted(folder.glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in _OF_A_CACHE)
            if kind != "Instruction":
                found[int(level)] = int(size.removesuffix("K")) * KB
        except (OSError, ValueError):  # not told, or in a form that no kernel of today writes
            continue
    if not {1, 2} <= set(found):
        return None
    return found[1], found[2], found[max(found)]


_OF_A_CACHE = ("level", "type", "size")


def cpu_target(
    threads: int,
    flags: Set[str] | None = None,
    machine: str | None = None,
    caches: tuple[int, int, int] | None = None,
) -> dict[str, Any]:
    """TVM target of this machine (or of the given flags, architecture and bytes of caches) for a number of threads."""
    flags = cpu_flags() if flags is None else flags
    here = platform.machine()
    machine = here if machine is None else machine
    if machine == here:
        caches = caches or cpu_caches()
    for kind in KINDS:
        if kind.architecture == _SAME.get(machine, machine) and kind.flags <= flags:
            return {
                "kind": "llvm",
                "num-cores": threads,
                "mcpu": kind.mcpu,
                **kind.more,
                CACHES: list(caches or kind.caches),
            }
    raise Unsupported(f"no CPU target is known for the architecture {machine!r}")


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


def core_of(target: dict[str, Any]) -> Core:
    """What a core of a CPU target has."""
    if target["kind"] != "llvm":
        raise Unsupported(f"the CPU template does not run on {target['kind']!r}")
    for kind in KINDS:
        if target.get("mcpu") == kind.mcpu and kind.more.items() <= target.items():
            caches = target.get(CACHES, kind.caches)
            return Core(kind.lanes, kind.registers, *caches, avx512="avx512f" in kind.flags)
    raise Unsupported(f"no row of kernels/target.py tells what {target.get('mcpu')!r} has")
