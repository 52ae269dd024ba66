"""How noisy a run's machine was, from raw samples: what batches and processes take over the mean of their row's, in logarithms."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from stats import samples

Cells = Collection[Sequence[dict]]  # the `ok` records of each cell's processes


class Deviation(NamedTuple):
    """Standard deviations of cells: of the typical one, and the root mean square of all."""

    typical: float
    all: float


def _of(groups: Iterable[Sequence[float]]) -> Deviation:
    """Of what members of groups took (s), each around the others of its own."""
    variances = np.square([np.std(np.log(own), ddof=1) for own in groups if len(own) > 1])
    return Deviation(float(np.median(variances) ** 0.5), float(np.mean(variances) ** 0.5))


def within(cells: Cells) -> Deviation:
    """Of a batch around its process's others."""
    return _of(record["samples"] for records in cells for record in records)


def between(cells: Cells) -> Deviation:
    """Of a process's median batch around its cell's other processes."""
    return _of([np.median(record["samples"]) for record in records] for records in cells)


class Turns(NamedTuple):
    """Of looks around their row and round: {"looks", "deviation", "correlation" of successive rounds} of rows that are
    compared with each other; by how much two processes of a row differ beyond what their looks explain, by how many pairs; and
    by how much a row's ratio to others differs between two blocks, by how many further blocks of rows."""

    groups: list[dict]
    processes: float
    pairs: int
    blocks: float
    further: int


def turns(cells: Cells) -> Turns | None:
    """Of processes that took turns; None where none did."""
    looked = {at: samples.medians(own) for at, own in enumerate(cells) if "looks" in own[0]}
    if not looked:
        return None
    place = samples.with_prior(looked)[next(iter(looked))].place
    rounds = place.rounds
    (processes, pairs), (blocks, further) = rounds.between_processes, rounds.between_blocks
    return Turns(rounds.noise, (2 * processes) ** 0.5, pairs, (2 * blocks) ** 0.5, further)
