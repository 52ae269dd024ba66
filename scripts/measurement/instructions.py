"""Instruction sets that a benchmark can be held to (`isa`).

What a processor has beyond one is hidden from each library by that library's own switch, before the process starts. Not
every library has one, so that the system is asked too: Linux keeps for every thread when it was last seen with registers
of AVX-512 in use, whoever's code that was (/proc/<pid>/task/<thread>/arch_status, since 5.3). Of NumPy's products on AMD
Zen 4 it said 0 to 50 ms ago without the switches, and never with them.
"""

import glob
import time

from measurement import machine, yardstick

SWITCHES = {
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
        # Names of old and new versions; those that one does not have it passes over.
        "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4",
        # Copies and comparisons of glibc, which would be seen in use.
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD",
    }
}
"""Environment variables by instruction set."""

JOINED = {"XLA_FLAGS": " ", "GLIBC_TUNABLES": ":"}  # to what the user has set there
BEYOND = {"avx2": ("avx512", "avx10", "amx")}  # how flags of what is hidden begin
LLVM = {"avx2": "x86-64-v3"}
"""What LLVM calls a processor that has no more, for those who compile by it."""
ASLEEP_S = 0.05  # a thread is looked at when it gives up its core


# What a library says that has no kernel for this processor, or for the format that it is asked for.
SIGNS = (
    "could not create a primitive descriptor",  # oneDNN: bfloat16 without AVX-512, for one
    "not implemented for '",  # PyTorch, and the format
    "unimplementederror",  # TensorFlow
    "unimplemented:",  # XLA
    "not_implemented",  # ONNX Runtime
)


def lacking(said):
    """Why a row is unsupported whose library says so in an error, or before it ends its process; "" if it does not."""
    for line in said.splitlines():
        if any(sign in line.lower() for sign in SIGNS):
            return "its library does not support this: " + line.strip()[:300]
    return ""


def switches(isa, inherited):
    """Environment variables that hold a process to an instruction set, over those that it inherits; {} of None."""
    return {
        name: inherited[name] + JOINED[name] + value
        if name in JOINED and inherited.get(name)
        else value
        for name, value in SWITCHES.get(isa, {}).items()
    }


def without(name, variables):
    """The value of one of JOINED, of a process that may be held to an instruction set, without that switch: for a release that
    ends where it meets one that it does not know. Whether it keeps to the set all the same, `seen` tells."""
    value = variables.get(name, "")
    for isa in SWITCHES:
        value = value.replace(SWITCHES[isa][name], "")
    return value.strip(JOINED[name])


def visible(isa):
    """What the processor can do, of that what is not hidden: a set of flags; all where `isa` is None."""
    return frozenset(
        f for f in machine.cpu_flags().split() if not f.startswith(BEYOND.get(isa, ()))
    )


def held_to(variables):
    """The instruction set that environment variables hold a process to; None without."""
    name = "ONEDNN_MAX_CPU_ISA"
    return next((isa for isa in SWITCHES if variables.get(name) == SWITCHES[isa][name]), None)


def _since_ms():
    """{thread: milliseconds since it was last seen with registers of AVX-512, -1 if never}; {} where the system does not
    tell."""
    found = {}
    for path in glob.glob("/proc/self/task/*/arch_status"):
        try:
            with open(path) as stream:
                fields = dict(line.split(":", 1) for line in stream if ":" in line)
        except OSError:  # it has ended
            continue
        if "AVX512_elapsed_ms" in fields:
            found[path.split("/")[-2]] = int(fields["AVX512_elapsed_ms"])
    return found


def seen(run, since_ms=_since_ms):
    """{"threads": of this process, "beyond": how many used AVX-512 while `run()` did; None where the system does not
    tell}"""
    time.sleep(ASLEEP_S)
    start = time.monotonic()
    run()
    yardstick.settle()
    time.sleep(ASLEEP_S)
    found = since_ms()
    elapsed = 1e3 * (time.monotonic() - start)
    beyond = sum(0 <= each < elapsed for each in found.values())
    return {"threads": len(found) or None, "beyond": beyond if found else None}


def missing(isa):
    """Why this processor cannot run what is held to an instruction set; "" where it can, or None is asked for."""
    there = isa is None or isa in machine.cpu_flags().split()
    return "" if there else "this processor has no %s" % isa.upper()


def refusal(isa, told):
    """Why a row that was held to an instruction set is not timed under that name; "" where it kept to it. told: what `seen`
    gives."""
    if visible(isa) == visible(None) or told["beyond"] == 0:
        return ""
    if told["beyond"] is None:
        return "cannot verify that it was limited to %s (needs Linux 5.3)" % isa.upper()
    return "limited to %s, it still uses AVX-512 (in %d of its %d threads)" % (
        isa.upper(),
        told["beyond"],
        told["threads"],
    )
