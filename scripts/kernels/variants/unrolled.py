"""All steps unrolled."""

from .automatic import build_unrolled


def build(spec, target, folder, database, vocabulary):
    build_unrolled(spec, target, folder)
