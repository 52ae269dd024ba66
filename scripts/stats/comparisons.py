"""What a case of a claim comes to: a ratio of numbers, of ratios, or along a line, and the interval that it lies in."""

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stats import estimates
from stats.estimates import CONFIDENCE
from stats.quantities import KEYS, RATES, Key, Numbers
from stats.samples import Times

LEAST_SIZES = 3  # fewer show no line

Selection = Mapping[str, str]
Alternatives = Sequence[Sequence[Key]]  # of numbers that are multiplied


def combinations(names: Mapping[str, list[str]]) -> Iterator[dict[str, str]]:
    """Every choice of one name for each key."""
    for values in itertools.product(*names.values()):
        yield dict(zip(names, values, strict=True))


def choices(cells: Mapping[str, str | list[str]]) -> dict[str, list[str]]:
    """{key: names}, also where a claim names one only."""
    return {key: [names] if isinstance(names, str) else names for key, names in cells.items()}


class NoNumber(Exception):
    """A cell, or a line's sizes, lack numbers."""


@dataclass(frozen=True)
class Comparison:
    """A number that a claim is about, made of others: of several alternatives on a side the fastest, or all with their
    powers."""

    numbers: Numbers
    of: Alternatives = ()
    to: Alternatives = ()
    powers: Mapping[Key, float] = field(default_factory=dict)
    off: Sequence[float] = ()  # how many times a line through what was measured once each one is
    scale: float = 1.0

    @functools.cached_property
    def keys(self) -> list[Key]:
        alternatives = itertools.chain(self.of, self.to, [tuple(self.powers)])
        return list(dict.fromkeys(itertools.chain.from_iterable(alternatives)))

    @functools.cached_property
    def statistical(self) -> bool:
        """Whether processes speak for it, and not the rounding of what is printed."""
        return all(self.numbers[key].processes for key in self.keys)

    def _processes(self, alternatives: Alternatives, inverse: bool) -> list[list[Times]]:
        power = -1 if inverse else 1
        return [[self.numbers[key].processes.to(power) for key in one] for one in alternatives]

    def interval(
        self, confidence: float = CONFIDENCE, processes: int = 0
    ) -> tuple[float, float, float]:
        """(value, low, high). A published number lies anywhere within its rounding. Of measured ones, see estimates;
        where processes are too few, any number is in it; along a line of what was measured once, how far that lies from the
        line tells. `processes` in each cell: what to expect of so many."""
        if not (self.statistical or self.off):
            return self._rounded()
        if self.off:
            times = [self.numbers[key].value for key in self.powers]
            found = estimates.along(times, list(self.powers.values()), self.off, confidence)
        elif self.powers:
            cells = [self.numbers[key].processes for key in self.powers]
            found = estimates.product(cells, list(self.powers.values()), confidence, processes)
        else:
            # The fastest has the largest rate, which is the smallest of inverse rates.
            rates = any(key[-1] in RATES for key in self.keys)
            sides = (self.to, self.of) if rates else (self.of, self.to)
            of, to = (self._processes(side, rates) for side in sides)
            found = estimates.ratio_of_fastest(of, to, confidence, processes)
        value, low, high = (number * self.scale for number in found)
        return (value, 0.0, math.inf) if math.isnan(low) else (value, low, high)

    def _rounded(self) -> tuple[float, float, float]:
        ends = []
        for name, other in (("value", "value"), ("low", "high"), ("high", "low")):
            if self.powers:
                powers = self.powers.items()
                terms = [getattr(self.numbers[k], name if p > 0 else other) ** p for k, p in powers]
                ends.append(math.prod(terms) * self.scale)
            else:
                over = self._fastest(self.of, name)
                ends.append(self.scale * over / self._fastest(self.to, other))
        value, low, high = ends
        return value, low, high

    def _fastest(self, alternatives: Alternatives, end: str) -> float:
        choose = max if any(key[-1] in RATES for key in self.keys) else min
        return choose(math.prod(getattr(self.numbers[k], end) for k in one) for one in alternatives)


def _key(cell: Selection) -> Key:
    return tuple(cell.get(key, "") for key in KEYS)


def _side(numbers: Numbers, cells: Mapping[str, str | list[str]]) -> list[tuple[Key]]:
    """The cells that a side of a ratio names. One without a number might be the fastest: NoNumber."""
    named = dict.fromkeys(_key(cell) for cell in combinations(choices(cells)))
    if not named.keys() <= numbers.keys():
        raise NoNumber
    return [(key,) for key in named]


def _ratio(numbers: Numbers, case: Selection, sides: Mapping) -> Comparison:
    return Comparison(numbers, *(_side(numbers, {**case, **sides[side]}) for side in ("of", "to")))


def _ratio_of_ratios(numbers: Numbers, at: Comparison, against: Comparison) -> Comparison:
    """min a / min b over min c / min d is min (a d) over min (b c), each of all pairs."""
    over, under = ((at.of, against.to), (at.to, against.of))
    sides = [[(*one, *other) for one, other in itertools.product(*side)] for side in (over, under)]
    return Comparison(numbers, *sides)


def _line(numbers: Numbers, case: Selection, linear: Mapping) -> Comparison:
    """Time at the largest size over that at the smallest, each per unit of size where the claim names one, along the line of
    least squares through the logarithms of times and sizes: all sizes speak, and none was chosen for being the slowest or the
    fastest."""
    sizes = {}
    for benchmark, size in linear["in"].items():
        if (key := _key({**case, "benchmark": benchmark})) in numbers:
            sizes[key] = size
    if len(sizes) < LEAST_SIZES:
        raise NoNumber
    logarithms = np.log(list(sizes.values()))
    reach = float(np.ptp(logarithms))
    centred = logarithms - logarithms.mean()
    weights = centred / np.sum(centred**2)  # of the slope
    powers = dict(zip(sizes, (float(reach * weight) for weight in weights), strict=True))
    off: list[float] = []
    if all(numbers[key].once for key in sizes):
        times = np.array([numbers[key].value for key in sizes])
        exponent = float(weights @ np.log(times))
        line = math.exp(float(np.mean(np.log(times)))) * np.exp(exponent * centred)
        off = (times / line).tolist()
    scale = math.exp(-reach) if "per" in linear else 1.0
    return Comparison(numbers, powers=powers, off=off, scale=scale)


def of_case(numbers: Numbers, claim: Mapping, name: str, case: Selection) -> Comparison:
    """What a case of a claim comes to."""
    if "linear" in claim:
        return _line(numbers, case, claim["linear"])
    sides = claim["ratios"][name]
    if "at" not in claim:
        return _ratio(numbers, case, sides)
    at = _ratio(numbers, {**case, **claim["at"]}, sides)
    return _ratio_of_ratios(numbers, at, _ratio(numbers, {**case, **claim["against"]}, sides))
