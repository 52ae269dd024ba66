"""Worker processes that live through a whole tuning."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from multiprocessing import get_context
from typing import Any

from measurement import processes

TIMEOUT_SECONDS = 120.0  # of a job

Job = tuple[Any, ...]
"""A function, and its arguments."""


class WorkerPool(AbstractContextManager):
    """Some processes, which end with the one that has them."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = self._begun()

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def results(self, jobs: Sequence[Job], last: bool = False) -> list[Any]:
        """What each job returns, or the exception where it has failed, takes too long or ends its worker.

        A worker that ends takes all jobs of the pool with it, and may have been killed from outside: they are tried
        once more, each by itself.
        """
        futures = [self._submitted(job) for job in jobs]
        found = [_outcome(future) for future in futures]
        if any(isinstance(outcome, TimeoutError | BrokenProcessPool) for outcome in found):
            self._renew()
        if not last:
            for index, job in enumerate(jobs):
                if isinstance(found[index], BrokenProcessPool):
                    (found[index],) = self.results([job], last=True)
        return found

    def _begun(self) -> ProcessPoolExecutor:
        # Told its parent: where that was killed meanwhile, a worker would wait for jobs for ever.
        return ProcessPoolExecutor(
            self.workers, get_context("spawn"), processes.die_with_parent, (os.getpid(),)
        )

    def _submitted(self, job: Job) -> Future[Any]:
        try:
            return self._pool.submit(*job)
        except BrokenProcessPool as error:
            future: Future[Any] = Future()
            future.set_exception(error)
            return future

    def _renew(self) -> None:
        """A fresh pool in place of one whose worker has ended or hangs."""
        for process in list((self._pool._processes or {}).values()):
            process.kill()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._begun()


def _outcome(future: Future[Any]) -> Any:
    try:
        return future.result(timeout=TIMEOUT_SECONDS)
    except Exception as error:
        return error
