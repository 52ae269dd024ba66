"""How noisy a run's machine was, and what of that could have been known: from raw samples and readings, never for a verdict.

All is of logarithms and within cells: what a process takes over the mean of its cell's.
"""

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from scipy import stats

from measurement import quiet
from plan.matrix import LEAST_PROCESSES
from stats import clean, estimates

Cells = Collection[Sequence[dict]]  # the `ok` records of each cell's processes
BATCHES = {
    "median": np.median,
    "mean": np.mean,
    "lowest tenth": lambda samples: np.quantile(samples, 0.1),
    "fastest": np.min,
}
PROCESSES = {"mean": np.mean, "faster": np.min}


def _positive(value: float | None) -> float:
    return math.log(value) if value else math.nan


def _readings(rate: str, of: Callable) -> Callable[[dict], float]:
    def read(record: dict) -> float:
        found = [_positive(each.get(rate)) for each in quiet.readings(record)]
        return float(of(found)) if found else math.nan

    return read


def _share(key: str) -> Callable[[dict], float]:
    def read(record: dict) -> float:
        seconds = record["interference"][key]
        return math.nan if seconds is None else seconds / record["interference"]["wall_s"]

    return read


def _within(record: dict) -> float:
    return float(np.std(np.log(record["samples"]), ddof=1)) if len(record["samples"]) > 1 else 0.0


SIGNALS: Mapping[str, Callable[[dict], float]] = {
    "multiply-adds, mean": _readings("gflops", np.mean),
    "multiply-adds, the lower": _readings("gflops", min),
    "memory, mean": _readings("gbytes_per_s", np.mean),
    "memory, the lower": _readings("gbytes_per_s", min),
    "hand-overs, mean": _readings("handovers_per_s", np.mean),
    "hand-overs, the lower": _readings("handovers_per_s", min),
    "steal": _share("steal_s"),
    "CPU time of others": _share("other_cpu_s"),
    "own CPU time": _share("own_cpu_s"),
    "spread of its batches": _within,
}


def deviation(parts: Sequence[float], squared: bool = False) -> tuple[float, float]:
    """(of the typical cell, of all together) of cells' standard deviations, or of their variances."""
    variances = np.asarray(parts) ** (1 if squared else 2)
    return float(np.median(variances) ** 0.5), float(np.mean(variances) ** 0.5)


def within(cells: Cells) -> tuple[float, float]:
    """Of a batch around its process's others, typical and root mean square."""
    return deviation([_within(record) for records in cells for record in records])


def between(cells: Cells) -> tuple[float, float]:
    """Of a process's median batch around its cell's other processes."""
    times = ([math.log(np.median(record["samples"])) for record in records] for records in cells)
    return deviation([float(np.std(own, ddof=1)) for own in times if len(own) > 1])


def agreement(cells: Cells) -> dict[tuple[str, str], tuple[float, float]]:
    """{(what is made of a process's batches, of two processes): how far two such numbers, of four different processes, lie
    from their mean}, of cells with four processes at least."""
    found = {}
    for (batches, of_one), (processes, of_two) in itertools.product(
        BATCHES.items(), PROCESSES.items()
    ):
        parts = []
        for records in cells:
            logs = [float(of_one(np.log(record["samples"]))) for record in records]
            numbers = range(len(logs))
            pairs = [
                (of_two([logs[i] for i in one]), of_two([logs[i] for i in other]))
                for one, other in itertools.combinations(itertools.combinations(numbers, 2), 2)
                if not {*one} & {*other}
            ]
            if pairs:
                parts.append(float(np.mean([(a - b) ** 2 / 2 for a, b in pairs])))
        if parts:
            found[batches, processes] = deviation(parts, squared=True)
    return found


def explained(cells: Cells) -> dict[str, float]:
    """{signal: the share of the variance between a cell's processes that a line through it explains}, `all together` by
    least squares; flattering, as it is fitted to what it explains. Without those that were not read."""
    times, signals = [], []
    for records in cells:
        logs = np.log([np.median(record["samples"]) for record in records])
        read = np.array([[signal(record) for signal in SIGNALS.values()] for record in records])
        times += list(logs - logs.mean())
        signals += list(read - read.mean(axis=0))
    time, table = np.array(times), np.array(signals)
    known = [number for number in range(len(SIGNALS)) if not np.isnan(table[:, number]).all()]
    rows = ~np.isnan(table[:, known]).any(axis=1)
    time, table = time[rows], table[rows][:, known]

    def share(columns: np.ndarray) -> float:
        left = time - columns @ np.linalg.lstsq(columns, time, rcond=None)[0]
        return 1 - float(left @ left / (time @ time))

    names = list(SIGNALS)
    found = {names[number]: share(table[:, [at]]) for at, number in enumerate(known)}
    return found | {"all together": share(table)}


def disturbance(cells: Cells) -> dict[str, float] | None:
    """What stretches of batches that were not quiet took over the quiet ones of the same process: {"stretches", "quiet":
    the share of those; "processes": with both, "ratio": the geometric mean, "slower": the share above 1.05}; None where no
    process has both."""
    best = quiet.of_run(record for records in cells for record in records)
    count, calm, ratios = 0, 0, []
    for record in (record for records in cells for record in records):
        which = clean.calm(record, best)
        count, calm = count + len(which), calm + sum(which)
        ends = np.cumsum([stretch["batches"] for stretch in quiet.stretches(record)])
        parts = np.split(np.log(record["samples"]), ends[:-1])
        sides = [
            [m for m, keep in zip(parts, which, strict=True) if keep == side] for side in (0, 1)
        ]
        if all(sides):
            loud, still = (np.median(np.concatenate(side)) for side in sides)
            ratios.append(float(loud - still))
    if not ratios:
        return None
    slower = sum(ratio > math.log(1.05) for ratio in ratios) / len(ratios)
    found = {"stretches": count, "quiet": calm / count, "processes": len(ratios)}
    return found | {"ratio": math.exp(np.mean(ratios)), "slower": slower}


def forked(cells: Cells) -> dict | None:
    """What it costs a process to be forked from one that has imported its framework, instead of importing it: {"cells",
    "processes": those that were, "ratio" of their times to those of the same cell's others, the geometric mean, with its
    95 % interval "low" and "high"}. None where fewer than three cells have both."""
    differences, count = [], 0
    for records in cells:
        both: tuple[list[float], list[float]] = ([], [])
        for record in records:
            both[record.get("forked", False)].append(math.log(np.median(record["samples"])))
        if all(both):
            differences.append(np.mean(both[1]) - np.mean(both[0]))
            count += len(both[1])
    if len(differences) < LEAST_PROCESSES:
        return None
    middle = float(np.mean(differences))
    low, high = stats.t.interval(
        estimates.CONFIDENCE, len(differences) - 1, middle, stats.sem(differences)
    )
    ends = {"low": math.exp(low), "high": math.exp(high)}
    return {"cells": len(differences), "processes": count, "ratio": math.exp(middle), **ends}
