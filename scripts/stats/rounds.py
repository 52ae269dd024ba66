"""Ratios of rows whose processes took turns: each group of rows that blocks join has a mixed model (mixed.py)."""

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from threadpoolctl import ThreadpoolController

from stats.mixed import LEAST_ROUNDS, Estimate, Look, Mixed, together


@functools.cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


class Rounds:
    """The looks of all rows of one machine and device: {row: [(look, s)]}."""

    def __init__(self, rows: Mapping[Hashable, Sequence[tuple[Look, float]]]) -> None:
        # A look alone in its block tells nothing, and as nothing is left of it, would make its row seem less noisy.
        looks = Counter(look.block for own in rows.values() for look, _ in own)
        self._looks = {
            row: [(look, math.log(time)) for look, time in beside or own]
            for row, own in rows.items()
            for beside in [[each for each in own if looks[each[0].block] > 1]]
        }
        group = DisjointSet(rows)
        # By fewer rounds a row does not join a block: one look that is off would move all rows of one side over those of the other.
        first: dict[str, Hashable] = {}
        for row, own in rows.items():
            for block, rounds in Counter(look.block for look, _ in own).items():
                if rounds >= LEAST_ROUNDS:
                    group.merge(row, first.setdefault(block, row))
        self._group = {row: group[row] for row in rows}
        self._members: dict[Hashable, list[Hashable]] = defaultdict(list)
        for row, key in self._group.items():
            self._members[key].append(row)
        self._joined: dict[Hashable, Mixed] = {}

    @property
    def groups(self) -> list[list[Hashable]]:
        """Rows that blocks join, the largest group last."""
        return sorted(self._members.values(), key=len)

    def _of(self, key: Hashable) -> Mixed:
        if key not in self._joined:
            # Small matrices: with threads that wait for each other on a busy machine it takes a hundred times as long.
            with _libraries().limit(limits=1, user_api="blas"):
                self._joined[key] = Mixed({row: self._looks[row] for row in self._members[key]})
        return self._joined[key]

    @functools.cached_property
    def between_processes(self) -> tuple[float, int]:
        """(variance of processes of one row beyond what their looks explain, by how many further processes), of the group of rows
        that has most of them."""
        return self._most(lambda group: (group.spread.processes, group.processes))

    @functools.cached_property
    def between_blocks(self) -> tuple[float, int]:
        """(variance of one row over the others from block to block, by how many further blocks of rows), likewise."""
        return self._most(lambda group: (group.spread.alone, group.further))

    def _most(self, told: Callable[[Mixed], tuple[float, int]]) -> tuple[float, int]:
        """What is told by the group of rows that has most to tell it by."""
        found = map(told, map(self._of, self._members))
        return max(found, key=lambda each: each[1], default=(0.0, 0))

    @functools.cached_property
    def noise(self) -> list[dict]:
        """[{"looks": how many, "deviation": standard deviation of one around its row and round, "correlation": of successive
        rounds}], of each group of rows that rounds join."""
        return [
            {"looks": len(each.left), "deviation": each.deviation, "correlation": each.correlation}
            for each in map(self._of, self._members)
        ]

    def beside(self, row: Hashable) -> Estimate:
        """Of a row, but without what the machine did to all of its rounds: the variance is that over the mean of all others, without
        their own noise."""
        others = [each for each in self._members[self._group[row]] if each != row]
        absolute = self.estimate({row: 1.0})
        if not others:
            return absolute
        joined = self._of(self._group[row])
        powers = np.full(len(joined.place), -1 / len(others))
        powers[joined.place[row]] = 1.0
        return joined.estimate(powers, joined.place[row])._replace(middle=absolute.middle)

    def estimate(self, powers: Mapping[Hashable, float], in_common: bool = False) -> Estimate:
        """The logarithm of a product of powers of what rows take; in_common: as if their looks had been in the same rounds."""
        groups: dict[Hashable, dict[Hashable, float]] = defaultdict(dict)
        for row, power in powers.items():
            groups[self._group[row]][row] = power
        found = []
        for key, own in groups.items():
            joined = self._of(key)
            vector = np.zeros(len(joined.place))
            for row, power in own.items():
                vector[joined.place[row]] = power
            found.append(joined.estimate(vector, in_common=in_common))
        return together(found)
