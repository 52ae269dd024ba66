"""Ready-made schedules for GPUs."""

from .cuda import build_cuda, target

__all__ = ["build", "target"]


def build(spec, target, folder, database, vocabulary):
    build_cuda(spec, target, folder)
