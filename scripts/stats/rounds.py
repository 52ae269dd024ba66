"""Ratios of rows whose processes took turns: what is compared is compared within rounds.

A look is the median batch of one turn. Its logarithm is taken to be the row's, plus the round's, plus noise:

    y[i, k] = row[i] + round[k] + noise[i, k]

A round is short, so a machine that is slow for a minute is slow for all of its rows, and the difference of two rows within it
does not know. With all rows in all rounds the least-squares estimate of a ratio is the mean of the differences within rounds, and
its interval Student's over rounds. Where rows are in different blocks, the rows that both blocks share join them: least squares for
incomplete blocks (Yates 1940, doi:10.1111/j.1469-1809.1940.tb02247.x). The variance is that of what each round adds to the estimate
(cluster-robust, Liang and Zeger 1986, doi:10.1093/biomet/73.1.13), so that rows may be unequally noisy.

A burst that is shorter than a look slows one row of a round by chance. A look that lies farther than three deviations from what
its row and round say counts less, by how far (Huber 1964, doi:10.1214/aoms/1177703732): on Zen 5 that halves intervals, on
Emerald Rapids, where all looks are as noisy, it changes nothing.

What is left of successive rounds may resemble each other: the variance is larger by (1 + r) / (1 - r), where r is the lag-1
correlation of what is left, of all rows together, as one row's few rounds do not tell it. It is unbiased to first order (Kendall
1954, doi:10.1093/biomet/41.3-4.403) and never below 0. If the processes of a row differ by more than their looks explain, the
variance between processes, of all rows together, is part of every interval.

`python -m tests.unit.simulated_looks` has the coverage on recorded looks.
"""

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

LEAST_ROUNDS = 3  # fewer have no interval, as fewer processes have none
MOST_CORRELATED = 0.9
FAR = 3.0  # deviations; of normal noise hardly a look does
MOST_STEPS, CLOSE = 30, 1e-4
SWEEPS = 4
NORMAL = 1.4826  # the standard deviation of normal noise over its median distance
LEAST_VARIANCE = 1e-12


class Look(NamedTuple):
    """When a process looked: rows of one block and round are compared with each other."""

    block: str
    round: int
    process: int

    @classmethod
    def read(cls, text: str) -> "Look":
        block, number, process = text.rsplit(" ", 2)
        return cls(block, int(number), int(process))

    def __str__(self) -> str:
        return f"{self.block} {self.round} {self.process}"


class Estimate(NamedTuple):
    """Of a logarithm, the variance of it, and the degrees of freedom that this is known with (NaN: rounds are too few)."""

    middle: float
    variance: float
    freedom: float


class _Joined:
    """Rows that rounds join to each other, directly or by others. Arrays are (rounds, rows)."""

    def __init__(self, rows: Mapping[Hashable, Sequence[tuple[Look, float]]]) -> None:
        self.place = {row: at for at, row in enumerate(rows)}
        looks = [(row, look, value) for row, own in rows.items() for look, value in own]
        rounds = sorted({look[:2] for _, look, _ in looks})
        number = {key: at for at, key in enumerate(rounds)}
        self._at = np.array([(number[look[:2]], self.place[row]) for row, look, _ in looks]).T
        self._values = np.array([value for *_, value in looks])
        left = self._polished()
        before = np.zeros(len(looks))
        for _ in range(MOST_STEPS):
            precision, counted = self._weights(left)
            left = self._fit(weights := precision * counted)
            if np.abs(weights - before).max() < CLOSE:
                break
            before = weights
        self.share = (self.counts / self.size[:, None]).mean(axis=0)
        # Than weights alone say, as a look that is far off does not move with its row.
        self.larger = weights.sum() / weights[counted == 1].sum()
        self.series: dict[tuple, dict[int, float]] = defaultdict(dict)
        for (row, look, _), each in zip(looks, left * counted, strict=True):
            self.series[row, look.process, look.block][look.round] = each
        levels: dict[tuple, dict[int, float]] = defaultdict(dict)
        for (block, turn), value in zip(rounds, self.level - self.level.mean(), strict=True):
            levels[(block,)][turn] = value
        self.correlation = _correlation(self.series)
        self.level_correlation = _correlation(levels)

    def _polished(self) -> np.ndarray:
        """What is left of each look by medians (Tukey's median polish), which a few that lie far do not move."""
        left = self._values.copy()
        members = [[at == number for number in np.unique(at)] for at in self._at]
        for _ in range(SWEEPS):
            for group in itertools.chain(*members):
                left[group] -= np.median(left[group])
        return left

    def _fit(self, weights: np.ndarray) -> np.ndarray:
        """Weighted least squares; what is left of each look."""
        shape = self._at[0].max() + 1, len(self.place)
        self.counts, sums = np.zeros(shape), np.zeros(shape)
        np.add.at(self.counts, tuple(self._at), weights)
        np.add.at(sums, tuple(self._at), weights * self._values)
        self.size = self.counts.sum(axis=1)
        means = sums.sum(axis=1) / self.size
        # Normal equations of the rows, once the rounds are taken out.
        within = np.diag(self.counts.sum(axis=0))
        within -= (self.counts / self.size[:, None]).T @ self.counts
        self.inverse = np.linalg.pinv(within, hermitian=True)
        off = sums - self.counts * means[:, None]
        self.rows = self.inverse @ off.sum(axis=0)
        fitted = self.counts @ self.rows / self.size
        self.level = means - fitted  # of each round
        self.left = off - self.counts * (self.rows - fitted[:, None])
        return self._values - self.rows[self._at[1]] - self.level[self._at[0]]

    def _weights(self, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(one over the variance of a row's looks, drawn towards that of all; how much of it counts, by how far a look lies from
        its row and round) of each look."""
        far = np.abs(left)
        of_rows = [np.median(far[self._at[1] == row]) for row in range(len(self.place))]
        variances = (np.square(of_rows) + np.median(far) ** 2) / 2 * NORMAL**2 + LEAST_VARIANCE
        scales = variances[self._at[1]] ** 0.5
        counts = np.minimum(1.0, FAR * scales / np.maximum(far, LEAST_VARIANCE))
        return variances.min() / scales**2, counts

    def estimate(self, powers: np.ndarray) -> Estimate:
        """Of a sum of `powers` (one a row) times the rows' logarithms."""
        total = powers.sum()
        absolute = abs(total) > 1e-9
        total = total if absolute else 0.0
        slopes = self.inverse @ (powers - total * self.share)
        rounds = len(self.size)
        added = self.left @ slopes + total * (self.level - self.level.mean()) / rounds
        weights = slopes - (self.counts @ slopes / self.size)[:, None]
        weights = weights + total / (rounds * self.size)[:, None]
        parts = (self.counts * weights**2).sum(axis=1)
        middle = powers @ self.rows + total * self.level.mean()
        if not parts.any():  # a row over itself
            return Estimate(float(middle), 0.0, math.inf)
        effective = parts.sum() ** 2 / (parts**2).sum()  # rounds, those that say little in part
        if effective < LEAST_ROUNDS - 1e-6:
            return Estimate(float(middle), math.nan, math.nan)
        correlation = max(self.correlation, self.level_correlation if absolute else 0.0)
        larger = self.larger**2 * (1 + correlation) / (1 - correlation)
        variance = (added**2).sum() * effective / (effective - 1) * larger
        return Estimate(float(middle), float(variance), float(effective - 1))


def _correlation(series: Mapping[tuple, Mapping[int, float]]) -> float:
    """Of successive rounds, of all series together, without what the mean that was taken from each hides."""
    products, squares, pairs, lengths = 0.0, 0.0, 0, []
    for own in series.values():
        if len(own) < LEAST_ROUNDS:
            continue
        lengths.append(len(own))
        middle = math.fsum(own.values()) / len(own)
        squares += sum((value - middle) ** 2 for value in own.values())
        following = [(own[k] - middle) * (own[k + 1] - middle) for k in own if k + 1 in own]
        products, pairs = products + sum(following), pairs + len(following)
    if not squares or not pairs:
        return 0.0
    found = (products / pairs) / (squares / sum(lengths))
    found += (1 + 3 * found) * len(lengths) / sum(lengths)
    return min(max(found, 0.0), MOST_CORRELATED)


class Rounds:
    """The looks of all rows of one machine and device: {row: [(look, s)]}."""

    def __init__(self, rows: Mapping[Hashable, Sequence[tuple[Look, float]]]) -> None:
        self._looks = {
            row: [(look, math.log(time)) for look, time in own] for row, own in rows.items()
        }
        taken = {row: {look[:2] for look, _ in own} for row, own in rows.items()}
        group = {row: row for row in rows}

        def root(row: Hashable) -> Hashable:
            while group[row] != row:
                row = group[row]
            return row

        # By fewer rounds two rows do not join: one look that is off would move all rows of one side over those of the other.
        for one, other in itertools.combinations(rows, 2):
            if root(one) != root(other) and len(taken[one] & taken[other]) >= LEAST_ROUNDS:
                group[root(other)] = root(one)
        members: dict[Hashable, list[Hashable]] = defaultdict(list)
        for row in rows:
            members[root(row)].append(row)
        self._group = {row: key for key, own in members.items() for row in own}
        self._members = members
        self._joined: dict[Hashable, _Joined] = {}

    def _of(self, key: Hashable) -> _Joined:
        if key not in self._joined:
            self._joined[key] = _Joined({row: self._looks[row] for row in self._members[key]})
        return self._joined[key]

    @functools.cached_property
    def between_processes(self) -> tuple[float, int]:
        """(variance of processes of one row beyond what their looks explain, by how many pairs), at least 0."""
        parts = []
        for key in self._members:
            own: dict[Hashable, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
            joined = self._of(key)
            for (row, process, _), series in joined.series.items():
                own[row][process] += series.values()
            larger = (1 + joined.correlation) / (1 - joined.correlation)
            for processes in own.values():
                known = [each for each in processes.values() if len(each) >= LEAST_ROUNDS]
                for one, other in itertools.pairwise(known):
                    error = sum(np.var(each, ddof=1) / len(each) for each in (one, other))
                    parts.append(((np.mean(one) - np.mean(other)) ** 2 - error * larger) / 2)
        return (max(0.0, float(np.mean(parts))), len(parts)) if parts else (0.0, 0)

    @functools.cached_property
    def noise(self) -> list[dict]:
        """[{"looks": how many, "deviation": standard deviation of one around its row and round, "correlation": of successive
        rounds}], of each group of rows that rounds join."""
        found = []
        for joined in map(self._of, self._members):
            left = [value for series in joined.series.values() for value in series.values()]
            free = len(left) - len(joined.size) - len(joined.place) + 1
            if free > 0:
                deviation = math.hypot(*left) / free**0.5
                about = {"deviation": deviation, "correlation": joined.correlation}
                found.append({"looks": len(left), **about})
        return found

    def beside(self, row: Hashable) -> Estimate:
        """Of a row, but without what the machine did to all of its rounds: the variance is that over all rows beside it."""
        members = self._members[self._group[row]]
        powers = {each: (each == row) - 1 / len(members) for each in members}
        absolute = self.estimate({row: 1.0})
        return (
            absolute
            if len(members) == 1
            else self.estimate(powers)._replace(middle=absolute.middle)
        )

    def estimate(self, powers: Mapping[Hashable, float]) -> Estimate:
        """The logarithm of a product of powers of what rows take."""
        groups: dict[Hashable, dict[Hashable, float]] = defaultdict(dict)
        for row, power in powers.items():
            groups[self._group[row]][row] = power
        found = []
        for key, own in groups.items():
            joined = self._of(key)
            vector = np.zeros(len(joined.place))
            for row, power in own.items():
                vector[joined.place[row]] = power
            found.append(joined.estimate(vector))
        variance, pairs = self.between_processes
        if variance:
            processes = {row: len({look.process for look, _ in self._looks[row]}) for row in powers}
            added = sum(power**2 * variance / processes[row] for row, power in powers.items())
            found.append(Estimate(0.0, added, pairs))
        return together(found)


def together(parts: Sequence[Estimate]) -> Estimate:
    """The sum of independent estimates; degrees of freedom by Satterthwaite (1946, doi:10.2307/3002019)."""
    middle = math.fsum(part.middle for part in parts)
    variance = math.fsum(part.variance for part in parts)
    squares = sum(part.variance**2 / part.freedom for part in parts if part.variance)
    return Estimate(middle, variance, variance**2 / squares if squares else math.inf)
