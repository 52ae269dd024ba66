"""MetaSchedule's own rules for CUDA, on the functions of one step.

Each function has one matrix product at most: of a whole step, with two, 1 of 40 schedules that the rules draw keeps a GPU's
limits, of a function 7 of 60. The rules are named, as of a GPU with tensor cores TVM takes those that need them.
"""

import functools

from . import automatic
from .cuda import require_gpu, target
from .te_lstm import split_step_functions

__all__ = ["build", "target", "tune"]

_tune = functools.partial(
    automatic.tune_default_rules, functions=split_step_functions, rules="cuda"
)


def tune(spec, target, trials, directory):
    require_gpu()
    return _tune(spec, target, trials, directory)


def build(spec, target, folder, database, vocabulary):
    automatic.build_steps(spec, target, folder, database, split_step_functions)
