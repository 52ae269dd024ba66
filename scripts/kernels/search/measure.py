"""Build and time candidate schedules in processes of their own.

The workers live through the whole tuning. MetaSchedule's own builder restarts its workers for
every batch of trials, and each imports tensor intrinsics (22 s) that no float32 CPU kernel uses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np

from recurrent_cells.cells import CELLS

from ..build import compile_template
from ..spec import KernelSpec, Schedule
from ..template.layout import buffer_shapes
from .pool import WorkerPool
from .space import vector_unit

MIN_SECONDS = 0.03
MIN_SAMPLES = 5


class Measurer(ExitStack):
    """Two pools: builders (one a thread of the kernel) and one process that runs candidates."""

    def __init__(self, spec: KernelSpec, target: dict[str, Any]) -> None:
        super().__init__()
        self.spec, self.target = spec, target
        self.build_seconds = 0.0
        self.run_seconds = 0.0
        self.failure = ""  # of the last candidate that was not built or not run
        # Left in the other order: the workers end before what they write to.
        self._directory = Path(self.enter_context(TemporaryDirectory(prefix="tvm-lstm-")))
        self._builders = self.enter_context(WorkerPool(spec.threads))
        self._runner = self.enter_context(WorkerPool(1))

    def __enter__(self) -> Self:
        """Start the workers; returns when they have imported TVM."""
        for pool in (self._builders, self._runner):
            pool.results([(_ready,)] * pool.workers)
        return self

    def measure(self, schedules: Sequence[Schedule], rounds: int = 1) -> list[list[float]]:
        """Seconds of each schedule's runs, empty for one that failed to build or run.

        All are built first, so that nothing else runs while they are timed; more rounds time
        them in turn, again and again.
        """
        start = time.perf_counter()
        libraries = self._build(schedules)
        self.build_seconds += time.perf_counter() - start
        start = time.perf_counter()
        seconds: list[list[float]] = [[] for _ in schedules]
        for _ in range(rounds):
            for index, library in enumerate(libraries):
                if library is not None:
                    values = self._run(library)
                    seconds[index].extend(values)
        self.run_seconds += time.perf_counter() - start
        for library in libraries:
            if library is not None:
                library.unlink(missing_ok=True)
        return seconds

    def _build(self, schedules: Sequence[Schedule]) -> list[Path | None]:
        paths = [self._directory / f"{time.time_ns()}-{i}.so" for i in range(len(schedules))]
        jobs = [
            (compile_template, self.spec, schedule, self.target, path)
            for schedule, path in zip(schedules, paths, strict=True)
        ]
        built = zip(paths, self._builders.results(jobs), strict=True)
        return [None if self._failed(found) else path for path, found in built]

    def _run(self, library: Path) -> list[float]:
        lanes = vector_unit(self.target).lanes
        (values,) = self._runner.results([(_time, self.spec, lanes, str(library))])
        return [] if self._failed(values) else values

    def _failed(self, found: Any) -> bool:
        if isinstance(found, Exception):
            self.failure = f"{type(found).__name__}: {found}".strip().splitlines()[0]
        return isinstance(found, Exception)


def _ready() -> bool:
    """Import what the jobs need."""
    import tvm.runtime  # noqa: F401

    return True


def sample(call: Callable[[], object], min_seconds: float, min_samples: int) -> list[float]:
    """Seconds of single calls, after two to warm up, until both minima are reached."""
    call()
    call()
    seconds: list[float] = []
    begin = time.perf_counter()
    while len(seconds) < min_samples or time.perf_counter() - begin < min_seconds:
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
        if len(seconds) >= 500:
            break
    return seconds


_buffers: dict[tuple[KernelSpec, int], tuple[Any, ...]] = {}


def _time(spec: KernelSpec, lanes: int, library: str) -> list[float]:
    """In a worker: run a library on random buffers, which are kept for the next one."""
    from tvm.runtime import load_module, tensor

    key = (spec, lanes)
    if key not in _buffers:
        rng = np.random.default_rng(0)
        _buffers.clear()
        _buffers[key] = tuple(
            tensor(rng.uniform(-0.1, 0.1, shape).astype(np.float32))
            for shape in buffer_shapes(CELLS[spec.cell], spec, lanes).values()
        )
    function = load_module(library)["main"]
    arguments = _buffers[key]
    return sample(lambda: function(*arguments), MIN_SECONDS, MIN_SAMPLES)
