"""Workers of a tuning: one that ends takes nobody's result with it."""

import math
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool

import pytest

from kernels.search import pool


@pytest.fixture
def workers() -> Iterator[pool.WorkerPool]:
    with pool.WorkerPool(2) as found:
        yield found


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_job_that_fails(workers: pool.WorkerPool) -> None:
    failed, right = workers.results([(math.sqrt, -1), (math.sqrt, 4)])
    assert isinstance(failed, ValueError) and right == 2


def test_a_job_that_ends_its_worker_costs_no_other(workers: pool.WorkerPool) -> None:
    jobs = [(math.sqrt, 4), (end,), *[(math.sqrt, 9)] * 6]
    found = workers.results(jobs)
    assert isinstance(found.pop(1), BrokenProcessPool)
    assert found == [2, *[3] * 6]
    assert workers.results([(math.sqrt, 16)]) == [4]


def test_a_job_that_takes_too_long(workers: pool.WorkerPool, monkeypatch) -> None:
    monkeypatch.setattr(pool, "TIMEOUT_SECONDS", 1)
    (found,) = workers.results([(time.sleep, 600)])
    assert isinstance(found, TimeoutError)
    monkeypatch.setattr(pool, "TIMEOUT_SECONDS", 60)
    assert workers.results([(math.sqrt, 4)]) == [2]
