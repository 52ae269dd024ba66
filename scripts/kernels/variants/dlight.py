"""Ready-made schedules for GPUs."""

from ..target import cuda_target
from .cuda import build_cuda


def build(spec, target, folder, database, vocabulary):
    build_cuda(spec, cuda_target(), folder)
