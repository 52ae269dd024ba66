"""What became of rows that two runs measured: all at once, each with itself."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize, stats

from stats.samples import CONFIDENCE, Noise, in_rounds, took_turns
from stats.spread import LEAST_VARIANCE, NOISE_CELLS, drawn

# How cells scatter from one day to another is told by how far the nearest four fifths of them lie from their middle: that is known
# with few degrees of freedom for each cell, tried until as few equal ones were named as `changes` says.
MOST_CELLS, A_CELLS_FREEDOM = 0.8, 0.2
# The most that is put down to another day of one machine, or to another machine: twice the largest scatter recorded, 5 and 29 %
# (docs/notebook/comparing-runs.md). Without it, whatever happens to more than a fifth of the cells would count as scatter.
SCATTER_OF_DAYS, SCATTER_OF_MACHINES = 0.1, 0.6
ORDER = ("regression", "improvement", "undecided", "same")


def _errors(counts: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(standard error, degrees of freedom) of each cell's log ratio, from the number of processes and the variance of
    their log times, both (cells, 2 runs); NaN where a run has one process only."""
    known = (counts > 1).all(axis=1)
    own, variances = counts[known] - 1, np.maximum(variances[known], LEAST_VARIANCE)
    level = 1.0
    if enough := known.sum() >= NOISE_CELLS:
        ratios = variances[:, 1] / variances[:, 0] / stats.f.median(own[:, 1], own[:, 0])
        level = np.median(ratios)
    degrees = own.sum(axis=1)
    pooled = (own * variances / [1, level]).sum(axis=1) / degrees
    moderated, degrees = drawn(pooled, degrees) if enough else (pooled, degrees)
    error, freedom = np.full((2, len(counts)), np.nan)
    error[known] = np.sqrt(moderated * ([1, level] / counts[known]).sum(axis=1))
    freedom[known] = degrees
    return error, freedom


class Level(NamedTuple):
    """How many times as long everything takes in another run, and how cells scatter around that (the standard deviation of
    logarithms) beyond what their processes tell, as far as another day does that. By how many cells."""

    ratio: float
    spread: float
    cells: int


def _compared(
    before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]], beside: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(processes or looks of both runs, log ratio of after to before, its standard error, degrees of freedom) of each cell;
    beside: without the errors that rows share, where a level takes them."""
    pairs = [(Noise.of(old, beside), Noise.of(after[cell], beside)) for cell, old in before.items()]
    counts = np.array([[run.count for run in pair] for pair in pairs]).reshape(-1, 2)
    variances = np.array([[run.variance for run in pair] for pair in pairs]).reshape(-1, 2)
    change = np.array([new.mean - old.mean for old, new in pairs])
    error, freedom = _errors(counts, variances)
    for at, (cell, old) in enumerate(before.items()):
        both = [after[cell], old]
        if took_turns(both):  # with each other: by their differences within rounds
            change[at], variance, freedom[at] = in_rounds(both, [1, -1])
            error[at] = variance**0.5
    counts = np.array([[len(old), len(after[cell])] for cell, old in before.items()]).reshape(-1, 2)
    return counts, change, error, freedom


def level(
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    controls: Sequence[str],
    most_scatter: float = SCATTER_OF_DAYS,
) -> Level | None:
    """The level of a run over another one's, by cells of both in which nothing was changed; None where those are too few to
    tell. By quantiles, as some of them may differ after all: a kernel that was searched again is another kernel. Its spread is
    `most_scatter` at most."""
    _, change, error, degrees = _compared(before, after, beside=True)
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

    most = most_scatter**2
    if scatter(0.0) <= 0:
        spread = 0.0
    elif scatter(most) >= 0:
        spread = most
    else:  # it falls with the spread, but for the steps of a quantile
        spread = optimize.brentq(scatter, 0.0, most)
    return Level(float(np.exp(middle(spread))), float(np.sqrt(spread)), int(known.sum()))


def changes(
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    relevant: float,
    level: Level | None = None,
) -> pd.DataFrame:
    """What became of the cells that two runs measured: the way to compare many cells at once, each with itself.

    before, after: {cell: what its processes took (s)}, of the same cells. level: of the second run over the first, which
    ratios are over, and whose scatter is part of their intervals. A row a cell: `cell`, `before_s` and
    `after_s` (medians over looks or processes), `processes` (or looks, of the run with fewer), `ratio` of after to before, `low` and
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
    comparisons name one, of cells up to 0.5 %.
    """
    counts, change, error, degrees = _compared(before, after, beside=level is not None)
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


def ranked(found: pd.DataFrame) -> pd.DataFrame:
    """What `changes` found, the worst verdicts first, and of these what is most certain."""
    rank = found["verdict"].map(ORDER.index)
    return found.assign(rank=rank).sort_values(["rank", "adjusted"], kind="stable")
