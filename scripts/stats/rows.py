"""The numbers of one row from the records of its processes: times, set-up, memory, and flags of what was odd."""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import stats

from measurement import quiet
from plan.matrix import LEAST_PROCESSES
from stats.estimates import product
from stats.samples import medians

SPREAD_LIMIT = 0.10  # interquartile range over median
LOAD_LIMIT = 1.5  # load average before a process over cores; the run's own jobs make up one
FREQUENCY_LIMIT = 0.05  # fastest over slowest clock in a cell's processes, above one
# Of devices.cuda.CLOCK_REASONS, those of heat and of the power supply; a power cap shows in the clock itself.
SLOWDOWNS = {"hardware slowdown", "thermal slowdown", "hardware thermal slowdown", "power brake"}
UNEVEN_LIMIT = 1.5  # slowest process over fastest; on virtual machines one can take twice as long
DRIFT_LIMIT = 0.05  # change over a process's samples, relative to their median
DRIFT_SAMPLES = 10  # fewer samples show no drift
DRIFT_MOST = 2000  # of more, some are enough: every pair of them has a slope
WARM_UP_LIMIT = 0.05  # median of the first samples over that of the others, from one
WARM_UP_SHARE = 0.2  # of the samples are the first ones
WARM_UP_SAMPLES = 15  # fewer cannot tell the first ones from the others
WARM_UP_SIGNIFICANCE = 0.01


def spread(samples: Sequence[float]) -> float:
    """Interquartile range over median."""
    lower, median, upper = np.percentile(samples, [25, 50, 75])
    return float((upper - lower) / median)


def drift(samples: Sequence[float]) -> float:
    """Relative change from first to last sample, by the Theil-Sen slope; 0 for a few samples."""
    if len(samples) < DRIFT_SAMPLES:
        return 0.0
    samples = samples[:: -(-len(samples) // DRIFT_MOST)]
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


def _uneven(samples: Sequence[float]) -> set[str]:
    """What is odd in one process's batches."""
    found = {"spread"} if spread(samples) > SPREAD_LIMIT else set()
    if abs(drift(samples)) > DRIFT_LIMIT:
        return found | {"drift"}
    return found | {"warm-up"} if warming_up(samples) else found


def flags(records: Sequence[dict]) -> list[str]:
    """What makes a cell's number doubtful, in words."""
    found = {"frequency"} if frequency_changed(records) else set()
    turns = any("looks" in record for record in records)  # whose scatter is in their intervals
    times = medians(records)
    if not turns and len(times) >= LEAST_PROCESSES and max(times) > UNEVEN_LIMIT * min(times):
        found.add("uneven")
    for record in records:
        samples, cores = record["samples"], record["machine"]["cores"]
        if not turns:
            found |= _uneven(samples)
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


def interval(records: Sequence[dict]) -> tuple[float, float, str]:
    """(low, high, kind) around what a cell takes, the median over processes of their median samples, in seconds.

    kind `confidence`: the 95 % interval of `product`; `quartiles`: with fewer than three processes, where the middle
    half of all samples lies, and that median, which says nothing of other runs.
    """
    point, low, high = product([medians(records)], [1])
    if np.isnan(low):
        samples = np.concatenate([record["samples"] for record in records])
        low, high = np.quantile(samples, [0.25, 0.75])
        return min(float(low), point), max(float(high), point), "quartiles"
    return low, high, "confidence"


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
    low, high, kind = interval(records)
    batches, times = min(map(len, processes)), medians(records)
    compiling = [record for record in records if not record.get("found_compiled")] or records
    setups = (record["setup"] for record in compiling)
    starts = [setup["build_s"] + setup["first_step_s"] for setup in setups]
    _, start_low, start_high = product([starts], [1])

    # A process that was forked shares its libraries' pages with another one, and does not count those it has not touched.
    unforked = [record for record in records if not record.get("forked")] or records
    of = {"build_s": compiling, "first_step_s": compiling, "process_peak_bytes": unforked}

    def middle(group: str, key: str) -> float | None:
        return _median(record[group][key] for record in of.get(key, records))

    return {
        "batches": batches,
        "wall_s": wall,
        "wall_low_s": low,
        "wall_high_s": high,
        "interval": kind,
        "wall_median_s": float(np.median(times)),
        "process_medians_s": times,
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
