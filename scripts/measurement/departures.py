"""Departures from the protocol that published measurements made, each to be measured for what it costs.

A benchmark names one (`departure` in config/documents). The harness makes these:

- `fed-before`: the batch is on the device before the clock starts;
- `unsynchronised`: the clock is read without waiting for the device;
- `fetched`: results are brought to the host before the clock is read;
- `kept-memory`: glibc's malloc keeps freed memory instead of returning it to the system.

An implementation makes these, by `workload.departure`, or raises Unsupported:

- `gradients-recorded`: forward records what a gradient would need;
- `denormals`: denormal numbers are computed with instead of flushed to zero.
"""

UNSYNCHRONISED, FETCHED, FED_BEFORE = "unsynchronised", "fetched", "fed-before"
GRADIENTS_RECORDED, DENORMALS = "gradients-recorded", "denormals"

VARIABLES = {
    "kept-memory": {
        # Large blocks come from the heap, whose top is never given back: each page is faulted in once.
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(2**40),
    }
}
"""Environment variables of a worker, by departure."""
