"""The ways to make a kernel, a module each by its name: `build`, and `tune` where it has a search.

    build(spec, target, folder, database, vocabulary)  write kernel.so and kernel.json; database: what `tune` filled;
                                                       a sixth argument, if it takes one: classes of a classifier
    tune(spec, target, trials, database)               search schedules

A module imports what its way needs, and nothing else: what is edited for one way makes no other one stale.
"""

from importlib import import_module
from types import ModuleType


def variant_named(name: str) -> ModuleType:
    """The module of a variant."""
    return import_module(f"{__name__}.{name.replace('-', '_')}")
