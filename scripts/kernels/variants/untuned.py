"""Plain loops."""

from .automatic import build_steps


def build(spec, target, folder, database, vocabulary):
    build_steps(spec, target, folder)
