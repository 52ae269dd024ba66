"""MetaSchedule's own rules."""

from .automatic import build_steps
from .automatic import tune_default_rules as tune

__all__ = ["build", "tune"]


def build(spec, target, folder, database, vocabulary):
    build_steps(spec, target, folder, database)
