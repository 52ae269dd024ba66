"""The template's schedule space for a kernel: which parameters tuning may choose."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from ..cells import CELLS, Cell
from ..spec import KernelSpec, Schedule
from ..target import vector_registers
from ..template.units import divisible
from ..template.vector import VectorUnit

FEW_ROWS = 6
"""Rows a core below which units are divided by default: they fill no register tile."""


def vector_unit(target: dict[str, Any]) -> VectorUnit:
    """Vector operations of a target."""
    lanes, _ = vector_registers(target)
    return VectorUnit(lanes, avx512=lanes == 16)


def most_rows(target: dict[str, Any], gates: int) -> int:
    """Rows of the largest register tile: `gates` sums a row, the weights, one broadcast value.

    Where that leaves fewer than 3 rows, as with 16 registers and 4 gates, the weights are read from memory.
    """
    _, registers = vector_registers(target)
    return (
        max((registers - 1 - gates) // gates, (registers - 2) // gates)
        if registers == 16
        else (registers - 1 - gates) // gates
    )


def default_schedule(
    spec: KernelSpec, target: dict[str, Any], cell: Cell | None = None
) -> Schedule:
    """A good schedule without tuning; cell: the kernel's, where it is none of those in cells/.

    Two gates a pass where registers are few: 6 rows x 2 gates load less than 3 rows x 4.
    """
    cell = cell or CELLS[spec.cell]
    lanes, registers = vector_registers(target)
    gates = min(4, len(cell.sums)) if registers == 32 else 2
    schedule = Schedule(rows=most_rows(target, gates), gates=gates, unroll=2, prefetch=1)
    few = spec.threads > 1 and spec.batch < FEW_ROWS * spec.threads
    if few and divisible(cell, spec.hidden_size, lanes):
        return canonical(replace(schedule, unroll=4, units=1), spec, target, cell)
    return schedule


def choices(spec: KernelSpec, target: dict[str, Any]) -> dict[str, list[int]]:
    """Candidate values of every parameter, those that make no difference left out."""
    share = -(-spec.batch // spec.threads)
    panels = [size for size in (16, 32, 48, 64, 96, 128, 256) if size < share] or [share]
    if share <= 256 and share not in panels:
        panels.append(share)
    passes = sorted({2, min(4, len(CELLS[spec.cell].sums))})
    rows = {most_rows(target, gates) - less for gates in passes for less in (0, 1, 2)}
    return {
        "rows": sorted(size for size in rows if size > 0),
        "gates": passes,
        "unroll": [1, 2, 4, 8],
        "prefetch": [0, 1, 2],
        "panel_rows": panels,
        "units": [0, 1] if spec.threads > 1 else [0],
    }


def canonical(
    schedule: Schedule, spec: KernelSpec, target: dict[str, Any], cell: Cell | None = None
) -> Schedule:
    """The schedule within the registers, parameters that have no effect at their defaults."""
    if schedule.units:
        sums = len((cell or CELLS[spec.cell]).sums)
        schedule = replace(schedule, gates=sums, prefetch=0, panel_rows=64)
    return replace(schedule, rows=min(schedule.rows, most_rows(target, schedule.gates)))


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
