"""Departures from the protocol that published measurements made, each to be measured for what it costs.

A benchmark names one (`departure` in config/documents). The harness makes FED_BEFORE, UNSYNCHRONISED, FETCHED and
DEFAULT_MALLOC; an implementation makes the others, by `workload.departure`, or raises Unsupported.
"""

UNSYNCHRONISED, FETCHED, FED_BEFORE = "unsynchronised", "fetched", "fed-before"
GRADIENTS_RECORDED, DENORMALS, DEFAULT_MALLOC = "gradients-recorded", "denormals", "default-malloc"

DESCRIPTIONS = {
    FED_BEFORE: "batch on the device before the clock starts",
    UNSYNCHRONISED: "clock read without waiting for the device",
    FETCHED: "results brought to the host within the clock",
    GRADIENTS_RECORDED: "forward records what a gradient would need",
    DENORMALS: "denormal numbers not flushed to zero",
    DEFAULT_MALLOC: "freed memory returned to the system, as malloc (glibc) does by default, instead of kept",
}
