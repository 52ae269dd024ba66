"""What a worker refuses before it builds anything."""

from measurement import machine, worker


def test_more_threads_than_cores_are_unsupported() -> None:
    """Such a cell would time how threads wait for each other."""
    cores = machine.usable_cores()
    job = {"kind": "time", "identity": {"implementation": "none/none"}, "protocol": {}}
    job |= {"benchmark": {"threads": cores + 1}, "threads": cores + 1}
    job["held_to"] = {"sources": "", "environment": {}, "beside": {}}
    found = worker.attempt(job, lambda message: None)
    assert found["status"] == "unsupported"
    assert found["reason"] == f"it takes {cores + 1} threads, and this machine has {cores} cores"
