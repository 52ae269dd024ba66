"""The ways to make a kernel, a module each by its name: `build`, and `tune` where it has a search.

    build(spec, target, folder, database, vocabulary)  write kernel.so and kernel.json; database: what `tune` filled;
                                                       a sixth argument, if it takes one: classes of a classifier
    tune(spec, target, trials, database)               search schedules
    target()                                           what they are for, where that is not the CPU

A module imports what its way needs, and nothing else: what is edited for one way makes no other one stale.
"""

from collections.abc import Set
from importlib import import_module
from types import ModuleType
from typing import Any

from ..target import cpu_target


def variant_named(name: str) -> ModuleType:
    """The module of a variant."""
    return import_module(f"{__name__}.{name.replace('-', '_')}")


def target_of(name: str, threads: int, flags: Set[str] | None = None) -> dict[str, Any]:
    """What a variant compiles for on this machine, or on one with these flags of a CPU."""
    variant = variant_named(name)
    return variant.target() if hasattr(variant, "target") else cpu_target(threads, flags)
