"""What a worker refuses, and what it makes of an error."""

from pathlib import Path

import pytest

from measurement import machine, worker
from measurement.contract import Unsupported


def test_more_threads_than_cores_are_unsupported(tmp_path: Path) -> None:
    """Such a cell would time how threads wait for each other."""
    cores = machine.usable_cores()
    job = {"kind": "time", "identity": {"implementation": "none/none"}, "protocol": {}}
    job |= {"benchmark": {"threads": cores + 1}, "threads": cores + 1}
    job["held_to"] = {"sources": "", "environment": {}, "beside": {}}
    found = worker.attempt(job, lambda message: None, str(tmp_path))
    assert found["status"] == "unsupported"
    assert found["reason"] == f"it takes {cores + 1} threads, and this machine has {cores} cores"


class UnimplementedError(Exception):
    """As TensorFlow has one."""


NO_PRIMITIVE = "could not create a primitive descriptor for the inner product"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(NO_PRIMITIVE),
        NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'BFloat16'"),
        UnimplementedError("no kernel of MatMul for these types"),
        RuntimeError(f"Exception from core.cpp:117:\n{NO_PRIMITIVE}"),
    ],
)
def test_what_a_library_has_no_kernel_for_is_unsupported_by_its_own_words(error: Exception) -> None:
    found = worker.verdict_of(error)
    assert found["status"] == "unsupported" and str(error).splitlines()[-1] in found["reason"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Unsupported("it says so"), "unsupported"),
        (NotImplementedError(), "failed"),  # a method that an implementation has not written
        (RuntimeError("shapes cannot be multiplied"), "failed"),
        (MemoryError(), "out-of-memory"),
        (RuntimeError("could not create a primitive descriptor: out of memory"), "out-of-memory"),
    ],
)
def test_other_errors_keep_their_status(error: Exception, status: str) -> None:
    assert worker.verdict_of(error)["status"] == status
