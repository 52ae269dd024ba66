"""MetaSchedule's own rules for CUDA, on one step of one layer."""

from ..target import cuda_target
from .automatic import build_steps, tune_default_rules


def target_here():
    return cuda_target() | {"host": {"kind": "llvm"}}


def tune(spec, target, trials, directory):
    return tune_default_rules(spec, target_here(), trials, directory)


def build(spec, target, folder, database, vocabulary):
    build_steps(spec, target_here(), folder, database)
