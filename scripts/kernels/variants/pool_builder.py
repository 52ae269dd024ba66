"""A MetaSchedule builder whose worker processes live as long as the tuning."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tvm
from tvm.ir.utils import derived_object
from tvm.s_tir.meta_schedule.builder import BuilderInput, BuilderResult, PyBuilder

from ..search.pool import WorkerPool


@derived_object
class PoolBuilder(PyBuilder):
    """Builds candidates in a pool of processes.

    MetaSchedule's LocalBuilder starts its workers anew for each batch of trials, and each of
    them imports all tensor intrinsics; that, not tuning, was most of its tuning time.
    """

    def __init__(self, pool: WorkerPool) -> None:
        super().__init__()
        self.pool = pool

    @staticmethod
    @contextmanager
    def workers(count: int) -> Iterator[PoolBuilder]:
        """A builder with `count` processes, which end with the context."""
        with WorkerPool(count) as pool:
            yield PoolBuilder(pool)

    def build(self, build_inputs: list[BuilderInput]) -> list[BuilderResult]:
        """Build all candidates; one that fails gives its error's message."""
        jobs = [
            (_build, tvm.ir.save_json(item.mod), {k: _plain(v) for k, v in _export(item)})
            for item in build_inputs
        ]
        return [
            BuilderResult(None, f"{type(found).__name__}: {found}")
            if isinstance(found, Exception)
            else BuilderResult(found, None)
            for found in self.pool.results(jobs)
        ]


def _export(item: BuilderInput) -> list[tuple[str, object]]:
    return list(item.target.export().items())


def _plain(value: object) -> object:
    """A target's attribute as plain Python, for sending to a worker."""
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "items"):
        return {str(k): _plain(v) for k, v in value.items()}
    if hasattr(value, "__iter__"):
        return [_plain(v) for v in value]
    return int(value)  # type: ignore[call-overload]


def _build(module: str, target: dict[str, object]) -> str:
    """In a worker: compile a module and link it into a library; returns its path."""
    from .intrinsics import import_only_x86_intrinsics

    import_only_x86_intrinsics()
    built = tvm.s_tir.meta_schedule.builder.local_builder.default_build(
        tvm.ir.load_json(module), tvm.target.Target(target), None
    )
    library = Path(tempfile.mkdtemp(prefix="tvm-lstm-")) / "candidate.so"
    built.export_library(str(library))
    return str(library)
