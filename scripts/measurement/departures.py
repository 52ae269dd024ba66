"""Departures from the protocol that published measurements made, each to be measured for what it costs.

A benchmark names one (`departure` in config/documents). The harness makes FED_BEFORE, UNSYNCHRONISED, FETCHED and
DEFAULT_MALLOC; an implementation makes the others, by `workload.departure`, or raises Unsupported.
"""

UNSYNCHRONISED, FETCHED, FED_BEFORE = "unsynchronised", "fetched", "fed-before"
GRADIENTS_RECORDED, DENORMALS, DEFAULT_MALLOC = "gradients-recorded", "denormals", "default-malloc"
