"""A linear mixed model of the looks of rows that took turns.

A look is the median batch of one turn. Its logarithm is taken to be

    y[look] = row + block + row in block + round + process + noise

Rows and blocks are fixed effects: nothing tells how much a machine differs from one hour to another, so rows of different blocks are
compared by the rows that both blocks have. An hour does not change all rows alike, though: how much a row in a block differs from what
row and block say is random, and is told by the rows that several blocks have, beside OF_BLOCKS. What is compared within a block is
compared as that hour had it; between blocks this is part of the interval. Rounds and processes are random effects. A round has
a part of its own (a machine that is slow for some seconds is slow for all rows of a round) and one that changes slowly (it resembles that of `n` rounds later by rho^n). On
a machine whose rounds differ much, rows are so compared within rounds; on one where they hardly do, each by its own looks, whichever
rounds they were in (the recovery of inter-block information, Yates 1940, doi:10.1111/j.1469-1809.1940.tb02247.x). How much rounds and
processes vary is estimated by restricted maximum likelihood (Patterson and Thompson 1971, doi:10.1093/biomet/58.3.545); how much
processes do, where rows have several; where none has, OF_PROCESSES is taken for it, with few degrees of freedom.

Single looks are hit by bursts, and single rounds are slow by a multiple. Looks that lie far from what their row, round and process say count
less, or not at all (Tukey's biweight; Huber 1981, Robust Statistics, chapter 7). A round's own part is Student's, with few degrees of
freedom (Lange, Little and Taylor 1989, doi:10.1080/01621459.1989.10478852). Rows are unequally noisy, and each has few looks: their
variances are drawn towards what those of all have in common (spread.py).

What is left of successive looks of a process may still resemble each other: the variance is larger by (1 + r) / (1 - r), where r is
their lag-1 correlation, of all rows together, unbiased to first order (Kendall 1954, doi:10.1093/biomet/41.3-4.403) and never below 0.
Degrees of freedom are by Satterthwaite (1946, doi:10.2307/3002019).

`python -m tests.unit.simulated_looks` has the coverage on recorded looks.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from stats.block import HEAVY, Block, Spread
from stats.spread import LEAST_VARIANCE, moderated

LEAST_ROUNDS = 3  # fewer have no interval, as fewer processes have none
MOST_CORRELATED = 0.9
SLOW = (0.5, 0.98)  # correlations of successive rounds that are tried
FAR = 5.0  # deviations, from where on a look does not count; of normal noise 95 % of what looks tell is kept
LEAST_COUNTED = 1e-4
# Of a variance: that spreads and weights are estimated, too. Without it 89 to 98 % of intervals of recorded looks hold the truth, with it 93 to 99 %.
WIDER = 1.3
QUIETER = 25  # times less of a variance
# Of logarithms, between processes of one row, where no row has two: what they differed by in recorded runs on quiet machines (docs/notebook/noise.md).
OF_PROCESSES = 0.015
# Of logarithms, what a block does to one row and not to the others, in recorded runs of one day: known as by HEAVY further blocks of rows.
OF_BLOCKS = 0.015
LEAST_FREE = 0.1  # of what a look tells, what its row and round leave
MOST_STEPS, SEARCHES, CLOSE = 15, 3, 2e-2
SWEEPS = 4
SAME = 1e-9
NORMAL = 1.4826  # the standard deviation of normal noise over its median distance
# Of the variance of rounds, over that of all looks: what is tried.
LEAST_SHARE, MOST_SHARE = 1e-4, 1e6


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


def together(parts: Sequence[Estimate]) -> Estimate:
    """The sum of independent estimates; degrees of freedom by Satterthwaite (1946, doi:10.2307/3002019)."""
    middle = math.fsum(part.middle for part in parts)
    variance = math.fsum(part.variance for part in parts)
    squares = sum(part.variance**2 / part.freedom for part in parts if part.variance)
    return Estimate(middle, variance, variance**2 / squares if squares else math.inf)


class Mixed:
    """Rows that blocks join to each other, directly or by others."""

    def __init__(self, rows: Mapping[Hashable, Sequence[tuple[Look, float]]]) -> None:
        self.place = {row: at for at, row in enumerate(rows)}
        looks = [(row, look, value) for row, own in rows.items() for look, value in own]
        self._row = np.array([self.place[row] for row, *_ in looks])
        self._looks = np.bincount(self._row)
        values = np.array([value for *_, value in looks])
        self._middles = np.array([np.median(values[self._row == at]) for at in range(len(rows))])
        self._values = values - self._middles[self._row]
        names = sorted({look.block for _, look, _ in looks})
        of_block = np.array([names.index(look.block) for _, look, _ in looks])
        numbers = np.array([look.round for _, look, _ in looks])
        processes = np.array([look.process for _, look, _ in looks])
        design = np.zeros((len(looks), len(rows) + len(names)))
        design[np.arange(len(looks)), self._row] = 1
        design[np.arange(len(looks)), len(rows) + of_block] = 1
        rounds = np.array([len(np.unique(numbers[of_block == at])) for at in range(len(names))])
        # What a row takes by itself is over all rounds: the blocks' effects sum to nothing over them.
        self._share = rounds / rounds.sum()
        self._basis = linalg.null_space(self._share[None])
        design = np.hstack([design[:, : len(rows)], design[:, len(rows) :] @ self._basis])
        known = np.hstack([design, self._values[:, None]])
        places = (np.flatnonzero(of_block == number) for number in range(len(names)))
        pairs = np.unique(np.stack([self._row, of_block]), axis=1)
        blocks_of = np.bincount(pairs[0])
        # Further blocks of a row than one, beyond those that tell what blocks do to all rows: what tells what they do to single ones.
        self.further = max(int((blocks_of - 1).sum()) - len(names) + 1, 0)
        # Where no row has two processes in a block, these and it are one.
        own = np.unique(np.stack([self._row, of_block, processes]), axis=1)
        if own.shape[1] == pairs.shape[1]:
            self.further = 0
        joining = np.flatnonzero(blocks_of > 1) if self.further else np.array([], int)
        self._blocks = [
            Block(at, numbers[at], self._row[at], processes[at], known[at], joining)
            for at in places
        ]
        self._rounds = int(rounds.sum())
        # How many processes each row has, of all blocks.
        self._counts = np.bincount(np.concatenate([block.rows for block in self._blocks]))
        # Further ones than one a row: what tells how processes differ.
        self.processes = len({(row, look.process) for row, look, _ in looks}) - len(rows)
        counted = self._fit(self._polished(of_block, numbers))
        series: dict[tuple, dict[int, float]] = defaultdict(dict)
        for (row, look, _), each in zip(looks, self.left * counted, strict=True):
            series[row, look.process, look.block][look.round] = each
        self.correlation = _correlation(series)

    def _polished(self, blocks: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """What is left of each look by medians of rows in a block and of rounds (Tukey's median polish), which a few that lie far do
        not move. Of rounds with one row nothing is taken."""
        left = self._values.copy()
        rows, rounds = (
            np.unique(np.stack([blocks, each]), axis=1, return_inverse=True)[1].ravel()
            for each in (self._row, numbers)
        )
        for _ in range(SWEEPS):
            for at, least in ((rows, 1), (rounds, 2)):
                for number in np.unique(at):
                    group = at == number
                    if group.sum() >= least:
                        left[group] -= np.median(left[group])
        return left

    def _fit(self, left: np.ndarray) -> np.ndarray:
        """Estimate all; how much of each look counts."""
        self._free = 1 - 1 / self._looks[self._row]
        # Fields of Spread that are searched, and where that begins.
        tried = {"rho": 0.8, "rounds": -1.0, "slow": -1.0}
        tried |= {"processes": -2.0} if self.processes else {}
        tried |= {"alone": -2.0} if self.further else {}
        self._searched, self._start = [*tried], np.array([*tried.values()])
        before = None
        for step in range(MOST_STEPS):
            counted = self._counted(left)
            weights = np.maximum(counted, LEAST_COUNTED) / self.variances[self._row]
            for block in self._blocks:
                block.weigh(weights[block.at])
            if step < SEARCHES:
                self._search()
            left = self._solve(weights)
            self._allow()
            if before is not None and np.abs(weights / before - 1).max() < CLOSE:
                break
            before = weights
        self.left = left
        return counted

    def _allow(self) -> None:
        """Let rounds that lie far off be so, and rows whose processes differ more than others': the effects of a row's processes are
        Student's together."""
        squares = np.zeros(len(self.place))
        for block in self._blocks:
            own = block.allow(self.spread, self._apart[block.at])
            squares += np.bincount(block.rows, own, len(squares))
        uneven = np.sqrt((HEAVY + squares) / (HEAVY + self._counts))
        for block in self._blocks:
            block.uneven = uneven[block.rows]

    def _scales(self, left: np.ndarray) -> np.ndarray:
        """Variances of each row's noise by the median of what is left of its looks, which those that lie far off do not move."""
        far = np.abs(left) / np.sqrt(np.maximum(self._free, LEAST_FREE))
        own = np.array([np.median(far[self._row == row]) for row in range(len(self.place))])
        own, beside = np.square(NORMAL * own), np.square(NORMAL * np.median(far))
        drawn = moderated(own + LEAST_VARIANCE, self._degrees)[0]
        # Half of a row's looks count at least, and no row is taken for as quiet as its median distances may be by chance.
        return np.maximum(np.maximum(drawn, own), beside / QUIETER)

    def _counted(self, left: np.ndarray) -> np.ndarray:
        """How much of each look counts, and by that the variances of rows' noise: what is left of looks, where those that lie far off
        count less, over how much less an estimate follows them (Huber 1981, Robust Statistics, chapter 7)."""
        self._degrees = np.maximum(np.bincount(self._row, self._free), self._looks / 4)
        far = np.abs(left) / (FAR * self._scales(left)[self._row] ** 0.5)
        inside = 1 - np.minimum(far, 1.0) ** 2
        counted = np.square(inside)  # Tukey's
        follows = np.mean(inside * (1 - 5 * np.minimum(far, 1.0) ** 2))
        squares = np.square(counted * left) / follows**2
        own = np.bincount(self._row, squares) / self._degrees + LEAST_VARIANCE
        beside = squares.sum() / self._degrees.sum()
        self.deviation = float(beside**0.5)
        drawn, self.freedom = moderated(own, self._degrees)
        self.variances = np.maximum(drawn, beside / QUIETER)
        return counted

    def _search(self) -> None:
        """The likeliest spread of rounds and processes, beside any noise, by restricted maximum likelihood."""
        noise = float(np.median(self.variances))
        free = max(len(self._row) - len(self.place) - self._basis.shape[1], 1)

        def spread(parameters: np.ndarray) -> Spread:
            rho, *variances = parameters
            return Spread(
                rho, **dict(zip(self._searched[1:], np.exp(variances) * noise, strict=True))
            )

        def lost(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            tried = spread(parameters)
            total, determinant = self._reduced(tried)
            # The last entry of the root of [X y]' V^-1 [X y] is what is left of y, those before it are of X.
            total[-1, -1] += SAME  # of looks that do not differ nothing is left
            root = linalg.cholesky(total, lower=True)
            *rows, left = np.diag(root)
            inverse = linalg.cho_solve((root[:-1, :-1], True), np.eye(len(rows)))
            effects = inverse @ total[:-1, -1]
            slopes = np.zeros(len(Spread._fields))
            for block in self._blocks:
                own = block.columns[:-1]
                of_own = inverse[np.ix_(own, own)]
                slopes += block.slopes(tried, of_own, effects[own], left**2 / free)
            value = determinant / 2 + np.log(rows).sum() + free * math.log(left)
            return value, slopes[[Spread._fields.index(name) for name in self._searched]]

        ends = (math.log(LEAST_SHARE), math.log(MOST_SHARE))
        bounds = [SLOW] + [ends] * (len(self._start) - 1)
        options = {"maxiter": 100, "ftol": 1e-12}
        found = optimize.minimize(
            lost, self._start, method="L-BFGS-B", jac=True, bounds=bounds, options=options
        )
        self._start = found.x
        self.spread = spread(found.x)

    def _reduced(self, spread: Spread) -> tuple[np.ndarray, float]:
        """([X y]' V^-1 [X y], log |V|) of all blocks."""
        size = 1 + max(int(block.columns.max()) for block in self._blocks)
        total, determinant = np.zeros((size, size)), 0.0
        for block in self._blocks:
            own, logarithm = block.reduced(spread)
            total[np.ix_(block.columns, block.columns)] += own
            determinant += logarithm
        return total, determinant

    def _solve(self, weights: np.ndarray) -> np.ndarray:
        """Rows, blocks and rounds by these weights; what is left of each look."""
        total, _ = self._reduced(self.spread)
        self._inverse = linalg.inv(total[:-1, :-1])
        self.rows = self._inverse @ total[:-1, -1]
        left, self._free, self._apart = np.zeros((3, len(weights)))
        for block in self._blocks:
            columns = block.columns[:-1]
            design = block.known[:, :-1]
            right = block.known[:, -1] - design @ self.rows[columns]
            left[block.at] = block.solve(right[:, None])[:, 0] / block.weights
            self._apart[block.at] = right
            solved = block.solve(design)
            known = np.einsum(
                "ij,jk,ik->i", solved, self._inverse[np.ix_(columns, columns)], solved
            )
            inside = linalg.solve_triangular(block.inner, block.root.T @ block.random.T, lower=True)
            free = 1 - block.weights * np.square(inside).sum(axis=0) - known / block.weights
            self._free[block.at] = free
        return left

    def estimate(
        self, powers: np.ndarray, alone: int | None = None, in_common: bool = False
    ) -> Estimate:
        """Of a sum of `powers` (one a row) times the rows' logarithms. alone: the row whose noise and processes count, not those of
        the others, where these are but what it stands beside; in_common: as if the looks of these rows had been in the same rounds,
        so that only what they and their processes do counts."""
        compared = powers != 0 if alone is None else np.arange(len(powers)) == alone
        middle, own, common = self._parts(powers, compared)
        if in_common:
            parts = [own[row] for row in np.flatnonzero(powers)]
        else:
            parts = [*(own if alone is None else [own[alone]]), *common]
        found = together(parts)
        return Estimate(middle, float(WIDER * found.variance), float(found.freedom))

    @property
    def _alone(self) -> float:
        """The variance of what a block does to one row, as far as rows of several blocks tell it."""
        if len(self._blocks) == 1:
            return 0.0
        known = self.further * self.spread.alone + HEAVY * OF_BLOCKS**2
        return known / (self.further + HEAVY)

    def _parts(
        self, powers: np.ndarray, compared: np.ndarray
    ) -> tuple[float, list[Estimate], list[Estimate]]:
        """(a sum of `powers` times the rows' logarithms, what makes up its variance: each row's looks and processes, and what rounds
        and blocks do). compared: which rows are, each block as it was for all of them."""
        contrast = np.zeros(len(self.rows))
        contrast[: len(powers)] = powers
        middle = float(contrast @ self.rows + powers @ self._middles)
        if not powers.any():  # a row over itself
            return middle, [Estimate(0.0, 0.0, math.inf)] * len(powers), []
        if self._looks[powers != 0].min() < LEAST_ROUNDS:
            unknown = Estimate(0.0, math.nan, math.nan)
            return middle, [unknown] * len(powers), [unknown]
        slopes = self._inverse @ contrast
        of_rows, of_processes = np.zeros((2, len(powers)))
        of_rounds, of_slow, alone, of_alone = 0.0, 0.0, 0.0, 0.0
        for block in self._blocks:
            weights = block.solve((block.known[:, :-1] @ slopes[block.columns[:-1]])[:, None])[:, 0]
            parts = weights**2 / block.weights
            of_rows += np.bincount(self._row[block.at], parts, len(powers))
            random = block.random.T @ weights
            own, processes, _ = np.split(random, block.parts)
            of_rounds += self.spread.rounds * float(np.square(own * block.far).sum())
            of_slow += self.spread.slow * float(own @ self.spread.rho**block.apart @ own)
            squares = self.spread.processes * (processes * block.uneven) ** 2
            of_processes += np.bincount(block.rows, squares, len(powers))
            here = np.bincount(self._row[block.at], weights, len(powers))
            here[block.joining] *= np.where(compared[block.joining], 1.0, block.alone)
            # Rows of one block are compared as it had them; where they stand on one side, each has its own share.
            both = min(here[compared].sum() ** 2, float(np.square(here[compared]).sum()))
            parts = np.array([both, *np.square(here[~compared])])
            alone, of_alone = alone + float(parts.sum()), of_alone + float(parts @ parts)
        of_rows *= (1 + self.correlation) / (1 - self.correlation)
        rho = self.spread.rho
        effective = max(self._rounds - 1, 1)
        # What a row takes by itself is that of some blocks, and their effects are no random ones: how they scatter is all that is known.
        of_blocks, further = 0.0, len(self._share) - 1
        if further and abs(powers.sum()) > SAME:
            effects = self._basis @ self.rows[len(powers) :]
            of_blocks = powers.sum() ** 2 * float(self._share @ effects**2) / further
        # How processes differ is known by all rows that have several, and how one row's do by its own.
        freedom = np.minimum(HEAVY + self._counts - 1, self.processes)
        if not self.processes:
            of_processes, freedom = (OF_PROCESSES * powers) ** 2, np.full(len(powers), HEAVY)
        own = [
            together([Estimate(0.0, *each[:2]), Estimate(0.0, *each[2:])])
            for each in zip(of_rows, self.freedom, of_processes, freedom, strict=True)
        ]
        # Each block's is Student's: one row may lie far off.
        freedom_alone = min(HEAVY * alone**2 / max(of_alone, SAME), self.further + HEAVY)
        common = [
            Estimate(0.0, of_rounds, effective),
            Estimate(0.0, of_slow, max(effective * (1 - rho) / (1 + rho), 1.0)),
            Estimate(0.0, of_blocks, further),
            Estimate(0.0, self._alone * alone, freedom_alone),
        ]
        return middle, own, common


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
