"""Statistics of a cell, in one place: everything a report says of raw samples is computed here.

The process is the unit. Within a process the batches follow each other and share their luck; between
fresh processes they do not. Nothing is deleted: a noisy cell keeps its number and gets a flag.

Intervals are t intervals of the logarithms of what processes took, as noise multiplies times. The bootstrap, which
needs no such assumption, needs more processes than a cell has: simulated with the noise between processes of 331 cells
on a virtual machine of two cores (2 % in the typical cell, 9 % in one of twenty), and with normal and one-sided
noise, 95 % percentile intervals of the median contained it in 74 to 76 % of cases with three processes and in 93 to
94 % with five; t intervals in 94 to 98 % with three, five and ten.

A cell's three to five processes tell little of its own noise, so variances are drawn towards what the cells of its document
have in common (`prior`). Simulated with noise that is alike, chi-squared, lognormal, as recorded, of two sizes and none
for some, with 12, 30 and 76 cells: of 40,000 pairs of equal cells 2.6 to 5.2 % are told apart with three processes, 3.5 to 4.8 %
with five; typical intervals of ratios are 8 to 27 % narrower with three (tests/unit/simulated.py prints the table).
"""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from plan.matrix import LEAST_PROCESSES
from stats.samples import CONFIDENCE, Noise, beside_others, in_rounds, took_turns

EQUIVALENCE = 1.02  # a ratio that lies between its inverse and it is none that matters
# Of more cells in a product, the luck in one's variance is made up for by the others'.
MOST_MODERATED = 2
# Measured once, by one process, which on virtual machines takes up to twice as long with no cause to see.
ONCE = 2.0
Alternatives = Sequence[Sequence[Sequence[float]]]  # of cells whose times are multiplied


def _quantile(confidence: float, freedom: float) -> float:
    """Student's, half of what is left at either side; stats.t.ppf takes a hundred times as long."""
    return float(special.stdtrit(freedom, (1 + confidence) / 2))


def product(
    cells: Sequence[Sequence[float]],
    powers: Sequence[float],
    confidence: float = CONFIDENCE,
    processes: int = 0,
) -> tuple[float, float, float]:
    """(point, low, high) of a product of powers of what cells take, from what each one's processes took: one time
    (`[times], [1]`), a ratio (`[a, b], [1, -1]`), a ratio of ratios, the slope of a line through logarithms.

    The point is made of the medians over processes. The interval is a t interval around the mean logarithms, and reaches
    as far as the point, which therefore lies in it always. (Of up to six processes a median lies in it anyway; of ten,
    four of which take twice as long, it does not, and the mean, which would, moves with every odd process.) NaN, NaN
    where a cell has fewer than three processes.

    Of cells that have a `Prior`, one or two, variances are moderated, and the degrees of freedom those of the cell that
    has fewest, as Hsu's for two variances. Else it is Welch's interval, with Satterthwaite's degrees of freedom: those of
    moderated variances would tell apart 7 to 9 % of equal cells, and Hsu's widen intervals of six cells and more.

    Of cells that took turns with each other it is that of stats/rounds.py, point and interval; the interval of one time is
    that beside the other cells: what the machine did to all of them, for minutes perhaps, is not in it.

    processes: the interval to expect if each cell had this many at least (or looks), further ones as noisy as these.
    """
    if took_turns(cells):
        found = beside_others(*cells, *powers) if len(cells) == 1 else in_rounds(cells, powers)
        middle, variance, freedom = found
        more = max(1.0, processes / min(map(len, cells)))
        if more > 1 and len(cells) > 1 and variance:
            # Further looks are in the same rounds, whichever rounds those that there are were in.
            beside = in_rounds(cells, powers, in_common=True)
            variance = more / (1 / variance + (more - 1) / beside.variance)
            freedom = max(freedom, beside.freedom)
        margin = 0.0
        if variance:
            margin = _quantile(confidence, (freedom + 1) * more - 1) * (variance / more) ** 0.5
        return math.exp(middle), math.exp(middle - margin), math.exp(middle + margin)
    pairs = list(zip(cells, powers, strict=True))
    point = math.prod(statistics.median(times) ** power for times, power in pairs)
    if min(map(len, cells)) < LEAST_PROCESSES:
        return point, math.nan, math.nan
    noises = [Noise.of(times) for times in cells]
    moderated = len(noises) <= MOST_MODERATED and all(noise.prior.freedom for noise in noises)
    middle = variance = squares = 0.0
    fewest = math.inf
    for noise, power in zip(noises, powers, strict=True):
        count = max(noise.count, processes)
        middle += power * noise.mean
        own = noise.moderated() if moderated else noise.variance
        variance += (share := power**2 * own / count)
        squares += share**2 / (count - 1)
        fewest = min(fewest, noise.prior.freedom + count - 1)
    margin = 0.0
    if variance:
        freedom = fewest if moderated else variance**2 / squares
        margin = _quantile(confidence, freedom) * variance**0.5
    low, high = math.exp(middle - margin), math.exp(middle + margin)
    return point, min(low, point), max(high, point)


def along(
    times: Sequence[float], powers: Sequence[float], off: Sequence[float], confidence: float
) -> tuple[float, float, float]:
    """(point, low, high) of a product of powers of what was measured once each, as `product`, where a line of least squares runs
    through the logarithms: a t interval as wide as they are `off` it, so many times (three at least)."""
    freedom = len(off) - 2
    scatter = math.hypot(*np.log(off)) / math.sqrt(freedom)
    middle = float(np.dot(powers, np.log(times)))
    margin = _quantile(confidence, freedom) * scatter * math.hypot(*powers)
    return math.exp(middle), math.exp(middle - margin), math.exp(middle + margin)


def width(times: Sequence[float], processes: int) -> float:
    """The relative width of a cell's interval that is to be expected of so many processes, if further ones are as noisy as
    those that took `times` (three at least)."""
    _, low, high = product([times], [1], processes=processes)
    return math.log(high / low)


def processes_needed(times: Sequence[float], target: float, most: int) -> int:
    """How many processes a cell needs for an interval of relative width `target`: as many as there are if they do, `most`
    if more would not."""
    narrow = (count for count in range(len(times), most) if width(times, count) <= target)
    return next(narrow, max(len(times), most))


class Ratio(NamedTuple):
    """Times over times, the 95 % interval (NaN: too few processes), and what follows: `faster`, `slower`, `same` (within
    the margin of equivalence) or `undecided`."""

    ratio: float
    low: float
    high: float
    verdict: str


def compared(low: float, high: float) -> str:
    """What an interval of a ratio says of it; NaN: nothing."""
    if low >= 1 / EQUIVALENCE and high <= EQUIVALENCE:
        return "same"
    return "faster" if high < 1 else "slower" if low > 1 else "undecided"


def ratio(of: Sequence[Sequence[float]], to: Sequence[Sequence[float]]) -> Ratio:
    """Times of cells over those of others, from what each one's processes took (`medians`): the one way to compare
    cells of a run. One cell over another, usually; of several on a side the product, so that a/b over c/d is a, d to
    b, c. The interval is that of `product`. Where a cell has fewer than three processes there is none, and the verdict
    is `undecided`.

    Simulated as above, share of verdicts between cells that do not differ and have no `Prior` (should be 5 %), with 3, 5, 10, and 3
    against 10 processes: 2 to 4, 2 to 5, 2 to 5, 3 to 7 %. Percentile bootstrap: 18 to 21, 12 to 16, 9 to 12, 17 %;
    BCa: 20 to 22, 12 to 22, 8 to 20, 17 to 25 %. A permutation test keeps the 5 % but needs four processes for a verdict.
    """
    cells, powers = (*of, *to), (*[1] * len(of), *[-1] * len(to))
    point, low, high = product(cells, powers)
    return Ratio(point, low, high, compared(low, high))


def ratio_of_fastest(
    of: Alternatives, to: Alternatives, confidence: float = CONFIDENCE, processes: int = 0
) -> tuple[float, float, float]:
    """(point, low, high) of the fastest of some alternatives over the fastest of others, whichever they are in truth.

    The one that came out fastest did so by luck too, so its own interval lies too low. Here the upper end is `min` over
    `of` of `max` over `to` of the pairs' upper ends, each pair's tail divided by the number of alternatives in `of`: if
    the truth lies above, then for some alternative a of `of` its pair with the fastest of `to` misses it, and a does so
    with the divided probability only. The lower end likewise. With one alternative on either side, `ratio`'s interval.

    An alternative with a cell of fewer than three processes has no interval. Where it came out fastest there is none (NaN, NaN);
    else its ends lie ONCE off, so that one that took several times as long is no reason to know nothing.
    """

    def taken(one: Sequence) -> float:
        return product(one, [1] * len(one))[0]

    def compare(one: Sequence, other: Sequence, share: int) -> tuple[float, float, float]:
        powers = (*[1] * len(one), *[-1] * len(other))
        return product((*one, *other), powers, 1 - (1 - confidence) / share, processes)

    fastest = [min(side, key=taken) for side in (of, to)]
    point, low, _ = compare(*fastest, 1)
    if math.isnan(low):
        return point, math.nan, math.nan

    def end(one: Sequence, other: Sequence, share: int, which: int) -> float:
        found = compare(one, other, share)
        once = found[0] * ONCE ** (1 if which == 2 else -1)
        return once if math.isnan(found[which]) else found[which]

    high = min(max(end(one, other, len(of), 2) for other in to) for one in of)
    low = max(min(end(one, other, len(to), 1) for one in of) for other in to)
    return point, low, high
