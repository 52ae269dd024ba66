"""What a row's processes took, in logarithms, and what all rows of a document tell of their noise."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from plan.matrix import Measurement
from stats.rounds import Estimate, Look, Rounds
from stats.spread import FREEDOMS, NOISE_CELLS, profile

CONFIDENCE = 0.95
# Of the degrees of freedom of what cells have in common their lower confidence bound counts, by what it loses in log
# likelihood against the likeliest: half of chi-squared's 90 % quantile, as all of the 5 % is on one side.
LIKELY = float(stats.chi2.ppf(2 * CONFIDENCE - 1, 1)) / 2


def medians(records: Sequence[dict]) -> "Times":
    """What a cell's processes took: the median of each one's samples (s), which a disturbed batch does not move. It
    differs less between processes than their averages do: by 30 %, in the cells named above. Of processes that took turns: of
    each look's."""
    if not all("looks" in record for record in records):
        return Times(float(np.median(record["samples"])) for record in records)
    looks = [
        (Look(look["block"], look["round"], record["identity"]["process"]), look["batches"])
        for record in records
        for look in record["looks"]
    ]
    times = (float(np.median(batches)) for _, batches in looks)
    return Times(times, looks=[look for look, _ in looks])


class Prior(NamedTuple):
    """What the variances of cells' log times have in common: they scatter about the square of `deviation` as if that were
    known with so many degrees of freedom; none: nothing is known."""

    freedom: float = 0.0
    deviation: float = 0.0


class Place(NamedTuple):
    """A row among those that it took turns with; what is meant is `scale` times a power of what it takes."""

    rounds: Rounds
    row: Hashable
    power: float = 1.0
    scale: float = 1.0


class Times(tuple[float, ...]):
    """What a cell's processes took (s), with what all cells of its document and machine tell of their noise: `prior`; or what
    its looks took, with when they were: `looks`, and `place`."""

    prior: Prior
    looks: Sequence[Look]
    place: Place | None

    def __new__(
        cls,
        times: Iterable[float] = (),
        prior: Prior | None = None,
        looks: Sequence[Look] | None = None,
        place: Place | None = None,
    ) -> "Times":
        found = super().__new__(cls, times)
        found.prior = getattr(times, "prior", Prior()) if prior is None else prior
        found.looks = getattr(times, "looks", ()) if looks is None else looks
        found.place = getattr(times, "place", None) if place is None else place
        return found

    def to(self, power: float, scale: float = 1.0) -> "Times":
        """Another quantity of the same processes, a power of their times and a multiple: its logarithms are as noisy."""
        place = self.place and self.place._replace(
            power=self.place.power * power, scale=self.place.scale**power * scale
        )
        return Times((scale * time**power for time in self), self.prior, self.looks, place)


class Noise(NamedTuple):
    """The logarithms of what a cell's processes took, in short: `variance` over `count` is that of the mean."""

    count: float
    mean: float
    variance: float  # their own; NaN of one process
    prior: Prior

    @classmethod
    def of(cls, times: Sequence[float], beside: bool = False) -> "Noise":
        """beside: without what a machine did to all rows of a round, of rows that took turns."""
        if getattr(times, "place", None):
            estimate = beside_others(times, 1.0) if beside else in_rounds([times], [1.0])
            count = estimate.freedom + 1
            return cls(count, estimate.middle, estimate.variance * count, Prior())
        logarithms = [math.log(time) for time in times]  # of three numbers, without NumPy's start
        count, mean = len(times), math.fsum(logarithms) / len(times)
        squares = math.fsum((each - mean) ** 2 for each in logarithms)
        variance = squares / (count - 1) if count > 1 else math.nan
        return cls(count, mean, variance, Times(times).prior)

    def moderated(self) -> float:
        """The variance, drawn towards what cells have in common."""
        own, (prior, deviation) = self.count - 1, self.prior
        return (prior * deviation**2 + own * self.variance) / (prior + own)


def prior(cells: Iterable[Sequence[float]]) -> Prior:
    """What the cells of one document on one machine and device have in common, from what each one's processes took; of
    fewer than NOISE_CELLS with two processes: nothing.

    The variance is the likeliest, its degrees of freedom are their lower 95 % confidence bound by the profile
    likelihood: where cells are few the likeliest run to infinity, and 7 % of equal cells would be told apart.
    """
    known = [noise for noise in map(Noise.of, cells) if noise.count > 1]
    if len(known) < NOISE_CELLS:
        return Prior()
    variances, counts = (
        np.array([getattr(n, key) for n in known]) for key in ("variance", "count")
    )
    likelihoods, common = profile(variances, counts - 1)
    best = likelihoods.argmax()
    least = (likelihoods >= likelihoods[best] - LIKELY).argmax()
    # As cells.csv has them, whatever the last digits are on another processor.
    return Prior(float(f"{FREEDOMS[least]:.3g}"), float(f"{common[best] ** 0.5:.4g}"))


def with_prior(cells: Mapping[Hashable, Sequence[float]]) -> dict[Hashable, Times]:
    """Cells of one document on one machine and device, each with what they have in common."""
    looked = {name: times for name, times in cells.items() if getattr(times, "looks", ())}
    common = prior(times for name, times in cells.items() if name not in looked)
    rounds = Rounds({n: [*zip(each.looks, each, strict=True)] for n, each in looked.items()})
    return {
        name: Times(times, place=Place(rounds, name)) if name in looked else Times(times, common)
        for name, times in cells.items()
    }


def measured(cells: Mapping[Measurement, Sequence[dict]]) -> dict[Measurement, Times]:
    """What the processes of cells of one document took, with what those on one device have in common."""
    devices: dict[str, dict[Measurement, list[float]]] = defaultdict(dict)
    for cell, records in cells.items():
        if records and all(record["status"] == "ok" for record in records):
            devices[cell.device][cell] = medians(records)
    found: dict[Measurement, Times] = {}
    for own in devices.values():
        found |= with_prior(own)
    return found


def in_rounds(cells: Sequence[Times], powers: Sequence[float], in_common: bool = False) -> Estimate:
    """Of the logarithm of a product of powers of what cells take that took turns on one machine; in_common: as if in the same rounds."""
    total: dict[Hashable, float] = defaultdict(float)
    scale = 0.0
    for times, power in zip(cells, powers, strict=True):
        total[times.place.row] += power * times.place.power
        scale += power * math.log(times.place.scale)
    found = cells[0].place.rounds.estimate(total, in_common)
    return found._replace(middle=found.middle + scale)


def beside_others(times: Times, power: float) -> Estimate:
    """Of the logarithm of a power of what a cell takes that took turns: the variance is that beside the others."""
    place = times.place
    found = place.rounds.beside(place.row)
    total, scale = power * place.power, power * math.log(place.scale)
    return Estimate(total * found.middle + scale, total**2 * found.variance, found.freedom)


def took_turns(cells: Sequence[Sequence[float]]) -> bool:
    """Whether all of some cells did, with each other."""
    places = [getattr(times, "place", None) for times in cells]
    return all(places) and len({id(place.rounds) for place in places}) == 1
