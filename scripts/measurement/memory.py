"""Memory of a process: freed memory is kept in every row, and what it still faults in is counted.

glibc gives large blocks back to the system as soon as they are freed, and the system hands out new pages one fault at a
time: 256 MB of logits are 62,500 faults a batch. Frameworks differ in who pays for that: whoever keeps a pool or
writes into the same buffer does not. So a CPU cell keeps what it has freed, and what the default costs is a departure.
Off glibc nothing is changed; the faults of each sample tell.
"""

import os
import resource

from measurement import processes

KEPT = {
    "MALLOC_MMAP_MAX_": "0",  # large blocks come from the heap, above 32 MB too,
    "MALLOC_TRIM_THRESHOLD_": str(2**40),  # whose end is never given back,
    "MALLOC_ARENA_MAX": "1",  # and which all threads share: those of other threads end at 64 MB
}
"""Environment variables of a worker."""

# What a user may have set that changes how a process computes or allocates; recorded, and handed on.
INHERITED = (
    "KMP_",
    "GOMP_",
    "OMP_",
    "MKL_",
    "OPENBLAS_",
    "MALLOC_",
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
)


def inherited(variables):
    """Those of a process's environment variables that change threads, libraries or allocators, {name: value}."""
    return {name: variables[name] for name in sorted(variables) if name.startswith(INHERITED)}


def faults(helpers=()):
    """Page faults without input or output of this process, and of `helpers` (ids of processes), so far."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    return own + sum(map(processes.page_faults, helpers))


def peaks(runner):
    """{"process_peak_bytes": of resident memory, of this process and its helpers, "device_peak_bytes"} so far."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    own *= 1 if os.uname().sysname == "Darwin" else 1024
    return {
        "process_peak_bytes": own + sum(map(processes.peak_bytes, runner.helpers())),
        "device_peak_bytes": runner.device_peak_bytes(),
    }
