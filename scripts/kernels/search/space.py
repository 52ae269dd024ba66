"""The template's schedule space for a kernel: which parameters tuning may choose."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from tvm.target import Target
from tvm.target.codegen import target_has_features

from measurement.contract import Unsupported
from recurrent_cells.cells import CELLS, Cell

from ..spec import KernelSpec, Schedule
from ..target import core_of
from ..template.blocking import squarest, sums_at_once, tallest
from ..template.units import divisible
from ..template.vector import VectorUnit


def vector_unit(target: dict[str, Any]) -> VectorUnit:
    """Vector operations of a target."""
    return VectorUnit(core_of(target))


def unit_of(spec: KernelSpec, target: dict[str, Any]) -> VectorUnit:
    """Vector operations of a kernel's products. Raises Unsupported where the CPU has none for their factors."""
    unit = vector_unit(target)
    if not spec.paired:
        return unit
    if not target_has_features("avx512bf16", Target(target)):
        raise Unsupported(f"{spec.data_type} takes AVX512-BF16, which {target['mcpu']} has not")
    return replace(unit, paired=True)


def default_schedule(
    spec: KernelSpec, target: dict[str, Any], cell: Cell | None = None
) -> Schedule:
    """A good schedule without tuning; cell: the kernel's, where it is none of those in cells/.

    Units are divided where there are fewer rows a core than fill a register tile.
    """
    cell = cell or CELLS[spec.cell]
    core = core_of(target)
    gates = sums_at_once(core, len(cell.sums), _share(spec))
    schedule = Schedule(rows=tallest(core, gates), gates=gates, unroll=2, prefetch=1)
    few = spec.threads > 1 and spec.batch < tallest(core, squarest(core)) * spec.threads
    if few and divisible(cell, spec, core.lanes):
        divided = replace(schedule, rows=core.registers, unroll=4, units=1)
        return canonical(divided, spec, target, cell)
    return schedule


def _share(spec: KernelSpec) -> int:
    """Rows of a core."""
    return -(-spec.batch // spec.threads)


def choices(spec: KernelSpec, target: dict[str, Any]) -> dict[str, list[int]]:
    """Candidate values of every parameter, those that make no difference left out."""
    share = _share(spec)
    panels = [size for size in (16, 32, 48, 64, 96, 128, 256) if size < share] or [share]
    if share <= 256 and share not in panels:
        panels.append(share)
    core, sums = core_of(target), len(CELLS[spec.cell].sums)
    passes = sorted({2, min(4, sums), sums_at_once(core, sums, share)})
    rows = {tallest(core, gates) - less for gates in passes for less in (0, 1, 2)}
    return {
        "rows": sorted(size for size in rows if size > 0),
        "gates": passes,
        "unroll": [1, 2, 4, 8],
        "prefetch": [0, 1, 2],
        "panel_rows": panels,
        "units": [0] if spec.threads == 1 or spec.paired else [0, 1],
    }


def canonical(
    schedule: Schedule, spec: KernelSpec, target: dict[str, Any], cell: Cell | None = None
) -> Schedule:
    """The schedule within the registers, parameters that have no effect at their defaults."""
    if schedule.units:
        sums = len((cell or CELLS[spec.cell]).sums)
        gates = sums_at_once(core_of(target), sums, spec.batch)
        schedule = replace(schedule, gates=gates, prefetch=0, panel_rows=64)
    return replace(schedule, rows=min(schedule.rows, tallest(core_of(target), schedule.gates)))


def random_schedules(spec: KernelSpec, target: dict[str, Any], seed: int = 0) -> Iterator[Schedule]:
    """Endless random schedules of the space, in canonical form (repeats are possible)."""
    rng = random.Random(seed)
    options = choices(spec, target)
    while True:
        values = {name: rng.choice(candidates) for name, candidates in options.items()}
        yield canonical(Schedule(**values), spec, target)


def mutations(schedule: Schedule, spec: KernelSpec, target: dict[str, Any]) -> Iterator[Schedule]:
    """All schedules that differ from the given one in one parameter, in canonical form."""
    for name, values in choices(spec, target).items():
        for value in values:
            if value != getattr(schedule, name):
                yield canonical(Schedule(**(asdict(schedule) | {name: value})), spec, target)
