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

import bisect
import itertools
import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize, special, stats

from measurement import quiet
from plan.matrix import LEAST_PROCESSES
from reporting import marks

CONFIDENCE = 0.95
EQUIVALENCE = 1.02  # a ratio that lies between its inverse and it is none that matters
MOST_PROCESSES = 100  # what nobody would run more of, to tell two cells apart
NOISE_CELLS = 10  # fewer do not tell how noisy a run is
FREEDOMS = np.logspace(-1, 3, 41)  # degrees of freedom that are tried for what cells have in common
# Of the degrees of freedom of what cells have in common their lower confidence bound counts, by what it loses in log
# likelihood against the likeliest: half of chi-squared's 90 % quantile, as all of the 5 % is on one side.
LIKELY = float(stats.chi2.ppf(2 * CONFIDENCE - 1, 1)) / 2
# Of more cells in a product, the luck in one's variance is made up for by the others'.
MOST_MODERATED = 2
# How cells scatter from one day to another is told by how far the nearest four fifths of them lie from their middle: that is known
# with few degrees of freedom for each cell, tried until as few equal ones were named as `changes` says.
MOST_CELLS, A_CELLS_FREEDOM = 0.8, 0.2
# Measured once, by one process, which on virtual machines takes up to twice as long with no cause to see.
ONCE = 2.0
LEAST_VARIANCE = 1e-12  # of logarithms: times that agree to the sixth digit
SPREAD_LIMIT = 0.10  # interquartile range over median
LOAD_LIMIT = 1.5  # load average before a process over cores; the run's own jobs make up one
FREQUENCY_LIMIT = 0.05  # fastest over slowest clock in a cell's processes, above one
# Of machine.CLOCK_REASONS, those of heat and of the power supply; a power cap shows in the clock itself.
SLOWDOWNS = {
    *("hardware slowdown", "thermal slowdown", "hardware thermal slowdown", "power brake"),
}
UNEVEN_LIMIT = 1.5  # slowest process over fastest; on virtual machines one can take twice as long
DRIFT_LIMIT = 0.05  # change over a process's samples, relative to their median
DRIFT_SAMPLES = 10  # fewer samples show no drift
WARM_UP_LIMIT = 0.05  # median of the first samples over that of the others, from one
WARM_UP_SHARE = 0.2  # of the samples are the first ones
WARM_UP_SAMPLES = 15  # fewer cannot tell the first ones from the others
WARM_UP_SIGNIFICANCE = 0.01


def medians(records: Sequence[dict]) -> list[float]:
    """What a cell's processes took: the median of each one's samples (s), which a disturbed batch does not move. It
    differs less between processes than their averages do: by 30 %, in the cells named above."""
    return [float(np.median(record["samples"])) for record in records]


def calm(record: Mapping, best: dict) -> list[bool]:
    """Which stretches of a process's batches are quiet, by the best of the run's readings (`quiet.of_run`)."""
    cores = record["machine"]["cores"]
    return [not quiet.reasons(stretch, best, cores) for stretch in quiet.stretches(record)]


def disturbed(records: Sequence[Mapping], best: dict) -> list[bool]:
    """Which processes have no quiet batch."""
    return [not any(calm(record, best)) for record in records]


def quiet_share(records: Sequence[Mapping], best: dict) -> float:
    """The share of some processes' batches that is in quiet stretches."""
    batches = [stretch["batches"] for record in records for stretch in quiet.stretches(record)]
    which = [one for record in records for one in calm(record, best)]
    return sum(itertools.compress(batches, which)) / sum(batches)


def counted(record: dict, best: dict) -> dict:
    """A process's record with the batches that count: those of its quiet stretches; all where none is, or it has none."""
    if record["status"] != "ok":
        return record
    which = calm(record, best)
    if all(which) or not any(which):
        return record
    stretches = quiet.stretches(record)
    of_batch = np.repeat(which, [one["batches"] for one in stretches])
    lists = {
        name: list(itertools.compress(record[name], of_batch)) for name in ("samples", "faults")
    }
    chosen = list(itertools.compress(stretches, which))
    meanwhile = quiet.together([stretch["interference"] for stretch in chosen])
    return record | lists | {"stretches": chosen, "interference": meanwhile}


def unclean(off: Sequence[bool]) -> bool:
    """Whether a cell with processes enough for an interval has too few that were not disturbed."""
    return len(off) - sum(off) < LEAST_PROCESSES <= len(off)


def counting(off: Sequence[bool]) -> list[bool]:
    """Which of a cell's processes its number is made of: those with quiet batches (measurement/quiet.py), if
    they are enough for an interval; else all, as on a machine that is slow all the time. The others stay in the records
    and are counted. It is the yardstick that tells, never the process's own time: to leave out a process because it took
    long would make every cell faster than it is."""
    clean = [not each for each in off]
    return clean if sum(clean) >= LEAST_PROCESSES else [True] * len(clean)


def kept(records: Sequence[dict], best: dict) -> list[dict]:
    """The `ok` records of a cell that its number is made of, each with the batches that count."""
    which = counting(disturbed(records, best))
    return [counted(record, best) for record in itertools.compress(records, which)]


class Prior(NamedTuple):
    """What the variances of cells' log times have in common: they scatter about the square of `deviation` as if that were
    known with so many degrees of freedom; none: nothing is known."""

    freedom: float = 0.0
    deviation: float = 0.0


class Times(tuple[float, ...]):
    """What a cell's processes took (s), with what all cells of its document and machine tell of their noise."""

    prior: Prior

    def __new__(cls, times: Iterable[float] = (), prior: Prior | None = None) -> "Times":
        found = super().__new__(cls, times)
        found.prior = getattr(times, "prior", Prior()) if prior is None else prior
        return found

    def changed(self, change: Callable[[float], float]) -> "Times":
        """Another quantity of the same processes, a power of their times or a multiple: its logarithms are as noisy."""
        return Times(map(change, self), self.prior)


class Noise(NamedTuple):
    """The logarithms of what a cell's processes took, in short."""

    count: int
    mean: float
    variance: float  # their own; NaN of one process
    prior: Prior

    @classmethod
    def of(cls, times: Sequence[float]) -> "Noise":
        logarithms = [math.log(time) for time in times]  # of three numbers, without NumPy's start
        count, mean = len(times), math.fsum(logarithms) / len(times)
        squares = math.fsum((each - mean) ** 2 for each in logarithms)
        variance = squares / (count - 1) if count > 1 else math.nan
        return cls(count, mean, variance, Times(times).prior)

    def moderated(self) -> float:
        """The variance, drawn towards what cells have in common."""
        own, (prior, deviation) = self.count - 1, self.prior
        return (prior * deviation**2 + own * self.variance) / (prior + own)


def _likelihoods(variances: np.ndarray, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(log likelihood, likeliest variance) of a prior with each of FREEDOMS, by variances of cells that are known with
    `degrees` of freedom each: they scatter about a common one, and the less they do the more each learns from all (Smyth
    2004, doi:10.2202/1544-6115.1027)."""
    freedoms = FREEDOMS[:, None]
    squares = degrees * (variances := np.maximum(variances, LEAST_VARIANCE))
    low, high = (np.full_like(FREEDOMS, np.log(end)) for end in (variances.min(), variances.max()))
    for _ in range(30):
        middle = (low + high) / 2
        shares = squares / (freedoms * np.exp(middle)[:, None] + squares)
        rising = ((freedoms + degrees) * shares - degrees).sum(axis=1) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    common = np.exp(middle)
    # F's density: stats.f.logpdf takes ten times as long.
    odds = squares / (freedoms * common[:, None])
    found = degrees / 2 * np.log(odds) - (freedoms + degrees) / 2 * np.log1p(odds)
    return (found - special.betaln(degrees / 2, freedoms / 2)).sum(axis=1), common


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
    likelihoods, common = _likelihoods(variances, counts - 1)
    best = likelihoods.argmax()
    least = (likelihoods >= likelihoods[best] - LIKELY).argmax()
    # As cells.csv has them, whatever the last digits are on another processor.
    return Prior(float(f"{FREEDOMS[least]:.3g}"), float(f"{common[best] ** 0.5:.4g}"))


def with_prior(cells: Mapping[Hashable, Sequence[float]]) -> dict[Hashable, Times]:
    """Cells of one document on one machine and device, each with what they have in common."""
    common = prior(cells.values())
    return {name: Times(times, common) for name, times in cells.items()}


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

    processes: the interval to expect if each cell had this many at least, further ones as noisy as these.
    """
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


def interval(processes: Sequence[Sequence[float]]) -> tuple[float, float, str]:
    """(low, high, kind) around what a cell takes, the median over processes of their median samples, in seconds.

    kind `confidence`: the 95 % interval of `product`; `quartiles`: with fewer than three processes, where the middle
    half of all samples lies, and that median, which says nothing of other runs.
    """
    times = [float(np.median(samples)) for samples in processes]
    point, low, high = product([times], [1])
    if np.isnan(low):
        low, high = np.quantile(np.concatenate(processes), [0.25, 0.75])
        return min(float(low), point), max(float(high), point), "quartiles"
    return low, high, "confidence"


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


def further(
    cells: Sequence[Sequence[float]], decided: Callable[[int], bool], most: int = MOST_PROCESSES
) -> int | None:
    """How many more processes the smallest of some cells needs until `decided`, which says it of a number of processes
    in each; None: more than `most` do not decide. Before there are three, as many as make three."""
    fewest = min(map(len, cells))
    if fewest < LEAST_PROCESSES:
        return LEAST_PROCESSES - fewest
    more = bisect.bisect_left(range(fewest, most + 1), True, key=decided)
    return more if fewest + more <= most else None


def ratio(
    of: Sequence[Sequence[float]], to: Sequence[Sequence[float]], confidence: float = CONFIDENCE
) -> Ratio:
    """Times of cells over those of others, from what each one's processes took (`medians`): the one way to compare
    cells of a run. One cell over another, usually; of several on a side the product, so that a/b over c/d is a, d to
    b, c. The interval is that of `product`. Where a cell has fewer than three processes there is none, and the verdict
    is `undecided`.

    Simulated as above, share of verdicts between cells that do not differ and have no `Prior` (should be 5 %), with 3, 5, 10, and 3
    against 10 processes: 2 to 4, 2 to 5, 2 to 5, 3 to 7 %. Percentile bootstrap: 18 to 21, 12 to 16, 9 to 12, 17 %;
    BCa: 20 to 22, 12 to 22, 8 to 20, 17 to 25 %. A permutation test keeps the 5 % but needs four processes for a verdict.
    """
    cells, powers = (*of, *to), (*[1] * len(of), *[-1] * len(to))
    point, low, high = product(cells, powers, confidence)
    return Ratio(point, low, high, compared(low, high))


def over_shapes(
    of: Sequence[Sequence[float]], to: Sequence[Sequence[float]], shapes: int
) -> tuple[float, float, float]:
    """(point, low, high) of the geometric mean over so many shapes of a cell's time over another's, or over a constant
    (`to` is empty); a shape without times has a ratio of one, exactly. NaN, NaN without any."""
    if not len(of):
        return 1.0, math.nan, math.nan
    return product((*of, *to), (*[1 / shapes] * len(of), *[-1 / shapes] * len(to)))


def over(row: Mapping, best: Mapping, name: str) -> dict[str, float]:
    """The time of a cell's row of a table over that of another: `name`, with `_low`, `_high` and `_mark`."""
    found = ratio([row["process_medians_s"]], [best["process_medians_s"]])
    ends = {f"{name}_low": found.low, f"{name}_high": found.high}
    return {name: found.ratio, **ends, f"{name}_mark": marks.beside(row, best)}


Alternatives = Sequence[Sequence[Sequence[float]]]  # of cells whose times are multiplied


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
        return math.prod(map(statistics.median, one))

    fastest = [min(side, key=taken) for side in (of, to)]
    over, under = map(taken, fastest)
    if min(map(len, itertools.chain(*fastest))) < LEAST_PROCESSES:
        return over / under, math.nan, math.nan

    def end(one: Sequence, other: Sequence, share: int, which: int) -> float:
        if min(map(len, (*one, *other))) < LEAST_PROCESSES:
            return taken(one) / taken(other) * ONCE ** (1 if which == 2 else -1)
        powers = (*[1] * len(one), *[-1] * len(other))
        tail = (1 - confidence) / share
        return product((*one, *other), powers, 1 - tail, processes)[which]

    high = min(max(end(one, other, len(of), 2) for other in to) for one in of)
    low = max(min(end(one, other, len(to), 1) for one in of) for other in to)
    return over / under, low, high


def spread(samples: Sequence[float]) -> float:
    """Interquartile range over median."""
    lower, median, upper = np.percentile(samples, [25, 50, 75])
    return float((upper - lower) / median)


def drift(samples: Sequence[float]) -> float:
    """Relative change from first to last sample, by the Theil-Sen slope; 0 for a few samples."""
    if len(samples) < DRIFT_SAMPLES:
        return 0.0
    slope = stats.theilslopes(samples).slope
    return float(slope * (len(samples) - 1) / np.median(samples))


def warming_up(samples: Sequence[float]) -> bool:
    """Whether a process's first samples differ from its others by more than the limit and more than by chance
    (Mann-Whitney); never for a few samples."""
    if len(samples) < WARM_UP_SAMPLES:
        return False
    first, others = np.split(np.asarray(samples), [int(len(samples) * WARM_UP_SHARE)])
    return (
        abs(np.median(first) / np.median(others) - 1) > WARM_UP_LIMIT
        and stats.mannwhitneyu(first, others).pvalue < WARM_UP_SIGNIFICANCE
    )


def frequency_changed(records: Sequence[dict]) -> bool:
    """Whether the CPU, or the GPU that took part, was slowed down for heat or ran at different clocks, in or between a
    cell's processes. Unknown is no."""
    readings = [record["frequency"] for record in records if "frequency" in record]
    clocks = [[at["mhz"] for reading in readings for at in reading.values()]]
    throttled = any(
        (reading["after"]["throttled"] or 0) > (reading["before"]["throttled"] or 0)
        for reading in readings
    )
    gpus = [record["gpu"] for record in records if "gpu" in record]
    states = [gpu[when] for gpu in gpus for when in ("before", "after") if gpu[when]]
    clocks += ([state[clock] for state in states] for clock in ("sm_mhz", "memory_mhz"))
    throttled |= any(SLOWDOWNS & {*(state["held_back_by"] or ())} for state in states)
    known = [[mhz for mhz in of_one if mhz] for of_one in clocks]
    return throttled or any(
        max(of_one) / min(of_one) - 1 > FREQUENCY_LIMIT for of_one in known if of_one
    )


def flags(records: Sequence[dict]) -> list[str]:
    """What makes a cell's number doubtful, in words."""
    found = {"frequency"} if frequency_changed(records) else set()
    times = medians(records)
    if len(times) >= LEAST_PROCESSES and max(times) > UNEVEN_LIMIT * min(times):
        found.add("uneven")
    for record in records:
        samples, cores = record["samples"], record["machine"]["cores"]
        if spread(samples) > SPREAD_LIMIT:
            found.add("spread")
        if abs(drift(samples)) > DRIFT_LIMIT:
            found.add("drift")
        elif warming_up(samples):
            found.add("warm-up")
        taken = quiet.interference(record["interference"], cores)
        if (taken or 0) > quiet.INTERFERENCE_LIMIT:
            found.add("interference")
        if record["interference"].get("suspensions"):
            found.add("suspended")
        if record["load"]["before"][0] > LOAD_LIMIT * cores:
            found.add("load")
    return sorted(found)


def utilisation(record: dict) -> float | None:
    """Share of the timed batches' time in which the device was busy: a GPU's as it says itself when they end, of its
    last second or less; of the CPU threads given to a process, its CPU time. None where unknown."""
    if record["identity"]["device"] == "gpu":
        percent = (record.get("gpu", {}).get("after") or {}).get("utilisation_percent")
        return None if percent is None else percent / 100
    reading = record["interference"]
    return reading["own_cpu_s"] / (reading["wall_s"] * record["threads"])


def _median(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None if none is."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def cell(records: Sequence[dict], batch: int) -> dict:
    """The numbers of one cell from the `ok` records of its processes.

    wall_median_s is the statistic that cells are compared by and that reports show, with the interval wall_low_s to
    wall_high_s (`interval`) in which it lies: over processes, the median of the medians of their samples
    (process_medians_s). wall_s is the document's metric, to stand beside its numbers: the average time of one batch, over
    processes the median; elapsed_s = batches x wall_s and sequences_per_s = batch / wall_s are the document's too.
    wall_std_s (None of a single one), wall_min_s and wall_max_s are those of all samples together. The others are medians over processes;
    wall_p99_s is what 99 % of a process's batches took at most.
    """
    processes = [record["samples"] for record in records]
    together = np.concatenate(processes)
    wall = float(np.median([np.mean(samples) for samples in processes]))
    low, high, kind = interval(processes)
    batches = min(map(len, processes))
    compiling = [record for record in records if not record.get("found_compiled")] or records
    setups = (record["setup"] for record in compiling)
    starts = [setup["build_s"] + setup["first_step_s"] for setup in setups]
    _, start_low, start_high = product([starts], [1])

    # A process that was forked shares its libraries' pages with another one, and does not count those it has not touched.
    unforked = [record for record in records if not record.get("forked")] or records
    of = {"build_s": compiling, "first_step_s": compiling, "process_peak_bytes": unforked}

    def middle(*path: str) -> float | None:
        values = []
        for record in of.get(path[-1], records):
            for key in path:
                record = record[key]
            values.append(record)
        return _median(values)

    return {
        "batches": batches,
        "wall_s": wall,
        "wall_low_s": low,
        "wall_high_s": high,
        "interval": kind,
        "wall_median_s": float(np.median(medians(records))),
        "process_medians_s": medians(records),
        "wall_std_s": float(np.std(together)) if len(together) > 1 else None,
        "wall_min_s": float(np.min(together)),
        "wall_max_s": float(np.max(together)),
        "wall_p99_s": float(np.median([np.percentile(samples, 99) for samples in processes])),
        "elapsed_s": wall * batches,
        "sequences_per_s": batch / wall,
        "import_s": middle("setup", "import_s"),
        "build_s": middle("setup", "build_s"),
        "first_step_s": middle("setup", "first_step_s"),
        "start_low_s": start_low,
        "start_high_s": start_high,
        "peak_memory_bytes": middle("memory", "process_peak_bytes"),
        "device_peak_bytes": middle("memory", "device_peak_bytes"),
        "utilisation": _median(map(utilisation, records)),
        "flags": " ".join(flags(records)),
    }


def _errors(counts: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(standard error, degrees of freedom) of each cell's log ratio, from the number of processes and the variance of
    their log times, both (cells, 2 runs); NaN where a run has one process only."""
    known = (counts > 1).all(axis=1)
    own, variances = counts[known] - 1, np.maximum(variances[known], LEAST_VARIANCE)
    level, prior, common = 1.0, 0.0, 0.0
    if enough := known.sum() >= NOISE_CELLS:
        ratios = variances[:, 1] / variances[:, 0] / stats.f.median(own[:, 1], own[:, 0])
        level = np.median(ratios)
    degrees = own.sum(axis=1)
    pooled = (own * variances / [1, level]).sum(axis=1) / degrees
    if enough:
        likelihoods, variances = _likelihoods(pooled, degrees)
        prior, common = FREEDOMS[best := likelihoods.argmax()], variances[best]
    moderated = (prior * common + degrees * pooled) / (prior + degrees)
    error, freedom = np.full((2, len(counts)), np.nan)
    error[known] = np.sqrt(moderated * ([1, level] / counts[known]).sum(axis=1))
    freedom[known] = prior + degrees
    return error, freedom


class Level(NamedTuple):
    """How many times as long everything takes in another run, and how cells scatter around that (the standard deviation of
    logarithms) beyond what their processes tell: what another day does. By how many cells."""

    ratio: float
    spread: float
    cells: int


def _compared(
    before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(processes of both runs, log ratio of after to before, its standard error, degrees of freedom) of each cell."""
    pairs = [(np.log(old), np.log(after[cell])) for cell, old in before.items()]
    counts = np.array([[len(run) for run in pair] for pair in pairs]).reshape(-1, 2)
    variances = [
        [np.var(run, ddof=1) if len(run) > 1 else np.nan for run in pair] for pair in pairs
    ]
    change = np.array([np.mean(new) - np.mean(old) for old, new in pairs])
    return counts, change, *_errors(counts, np.reshape(variances, (-1, 2)))


def level(
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    controls: Sequence[str],
) -> Level | None:
    """The level of a run over another one's, by cells of both in which nothing was changed; None where those are too few to
    tell. By quantiles, as some of them may differ after all: a kernel that was searched again is another kernel."""
    _, change, error, degrees = _compared(before, after)
    known = np.isin(list(before), list(controls)) & ~np.isnan(error)
    if known.sum() < NOISE_CELLS:
        return None
    change, error = change[known], error[known]
    most_of = stats.t.ppf((1 + MOST_CELLS) / 2, degrees[known])

    def middle(spread: float) -> float:
        """The weighted median, by what is known of each cell."""
        order = np.argsort(change)
        weights = np.cumsum(1.0 / (error[order] ** 2 + spread))
        return change[order][np.searchsorted(weights, weights[-1] / 2)]

    def scatter(spread: float) -> float:
        """Above 0 where more cells lie far from their middle than such a spread has it."""
        off = np.abs(change - middle(spread)) / np.sqrt(error**2 + spread)
        return float(np.quantile(off / most_of, MOST_CELLS) - 1.0)

    most = 10 * np.ptp(change) ** 2
    # It falls with the spread, but for the steps of a quantile.
    spread = optimize.brentq(scatter, 0.0, most) if scatter(0.0) > 0 > scatter(most) else 0.0
    return Level(float(np.exp(middle(spread))), float(np.sqrt(spread)), int(known.sum()))


def overlapping(
    before: Mapping[Hashable, Times], after: Mapping[Hashable, Times]
) -> dict[Hashable, bool]:
    """{cell: whether its 95 % intervals in two runs, each of that run's processes alone, have a time in common}, of those that
    have an interval in both. Of the same cells; intervals are those that pages show."""
    one, other = (
        {name: product([times], [1])[1:] for name, times in run.items()} for run in (before, after)
    )
    return {
        name: max(one[name][0], other[name][0]) <= min(one[name][1], other[name][1])
        for name in one
        if not np.isnan([*one[name], *other[name]]).any()
    }


def changes(
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    relevant: float,
    level: Level | None = None,
) -> pd.DataFrame:
    """What became of the cells that two runs measured: the way to compare many cells at once, each with itself.

    before, after: {cell: what its processes took (s)}, of the same cells. level: of the second run over the first, which
    ratios are over, and whose scatter is part of their intervals. A row a cell: `cell`, `before_s` and
    `after_s` (medians over processes), `processes` (of the run with fewer), `ratio` of after to before, `low` and
    `high` (its 95 % interval), `adjusted` (p value) and `verdict`: `regression` or `improvement`, where the ratio
    differs from one significantly and by more than `relevant` (0.05: 5 %); `same`, where the interval lies within
    that; else `undecided`, as where a run has one process only.

    A cell's few processes tell little of their noise. All cells tell more: variances are drawn towards what they have in
    common, as likely as it is, once those of the second run are brought to the level of the first, as its machine may be
    a noisier one.

    p values are adjusted as Benjamini and Hochberg do: of the cells named, 5 % are expected to be false alarms, and
    where nothing differs, 5 % of comparisons name any cell, however many cells they have. Simulated as above with
    100 cells, none of which differs: 0 to 5 % of comparisons name a regression, with 2, 3, 5, 10 and 3 against 10 processes
    and with as many as `processes_needed` says, in runs of equal noise and with one twice as noisy. With a level, where
    cells scatter by 2, 5 or 10 % from day to day (20 and 77 cells, three processes, also four times as noisy): 1 to 17 % of
    comparisons name one, of cells 0.1 to 0.4 %.
    """
    counts, change, error, degrees = _compared(before, after)
    if level:
        change = change - np.log(level.ratio)
        own, days = error**2, level.spread**2
        error = np.sqrt(own + days)
        # Of a sum of two variances (Satterthwaite).
        degrees = error**4 / (own**2 / degrees + days**2 / (A_CELLS_FREEDOM * level.cells))
    margin = stats.t.ppf((1 + CONFIDENCE) / 2, degrees) * error
    p = 2 * stats.t.sf(np.abs(change) / error, degrees)
    adjusted = np.full(len(p), np.nan)
    adjusted[~np.isnan(p)] = stats.false_discovery_control(p[~np.isnan(p)])
    low, high = np.exp(change - margin), np.exp(change + margin)
    significant, limit = adjusted <= 1 - CONFIDENCE, np.log1p(relevant)
    return pd.DataFrame(
        {
            "cell": list(before),
            "before_s": [float(np.median(times)) for times in before.values()],
            "after_s": [float(np.median(after[cell])) for cell in before],
            "processes": counts.min(axis=1),
            "ratio": np.exp(change),
            "low": low,
            "high": high,
            "adjusted": adjusted,
            "verdict": np.select(
                [
                    significant & (change > limit),
                    significant & (change < -limit),
                    (low >= np.exp(-limit)) & (high <= np.exp(limit)),
                ],
                ["regression", "improvement", "same"],
                "undecided",
            ),
        }
    )
