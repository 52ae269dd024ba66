"""Departures from the protocol that published measurements made, each to be measured for what it costs.

A benchmark names one (`departure` in config/documents). The harness makes FED_BEFORE, UNSYNCHRONISED, FETCHED and
KEPT_MEMORY; an implementation makes the others, by `workload.departure`, or raises Unsupported.
"""

UNSYNCHRONISED, FETCHED, FED_BEFORE = "unsynchronised", "fetched", "fed-before"
GRADIENTS_RECORDED, DENORMALS, KEPT_MEMORY = "gradients-recorded", "denormals", "kept-memory"

DESCRIPTIONS = {
    FED_BEFORE: "batch on the device before the clock starts",
    UNSYNCHRONISED: "clock read without waiting for the device",
    FETCHED: "results brought to the host within the clock",
    GRADIENTS_RECORDED: "forward records what a gradient would need",
    DENORMALS: "denormal numbers not flushed to zero",
    KEPT_MEMORY: "freed memory kept by malloc (glibc) instead of returned to the system",
}

VARIABLES = {
    KEPT_MEMORY: {
        # Large blocks come from the heap, whose top is never given back: each page is faulted in once.
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(2**40),
    }
}
"""Environment variables of a worker, by departure."""
