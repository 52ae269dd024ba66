"""Statistics of a cell, in one place: everything a report says of raw samples is computed here.

The process is the unit. Within a process the batches follow each other and share their luck; between
fresh processes they do not. Nothing is deleted: a noisy cell keeps its number and gets a flag.

Intervals are t intervals of the logarithms of what processes took, as noise multiplies times. The bootstrap, which
needs no such assumption, needs more processes than a cell has: simulated with the noise between processes of 331 cells
on a virtual machine of two cores (2 to 3 % in the typical cell, more than 10 % in one of twenty), and with normal and
one-sided noise, 95 % percentile intervals of the median contained the truth in 74 to 76 % of cases with three
processes and in 93 to 94 % with five; t intervals in 94 to 98 % with any number from three on.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize, stats

from matrix import LEAST_PROCESSES

CONFIDENCE = 0.95
NOISE_CELLS = 10  # fewer do not tell how noisy a run is
SPREAD_LIMIT = 0.10  # interquartile range over median
INTERFERENCE_LIMIT = 0.05  # share of the machine's CPU time taken by others while timing
LOAD_LIMIT = 1.5  # load average before a process over cores; the run's own jobs make up one
FREQUENCY_LIMIT = 0.05  # fastest over slowest clock of the CPU in a cell's processes, above one
DRIFT_LIMIT = 0.05  # change over a process's samples, relative to their median
DRIFT_SAMPLES = 10  # fewer samples show no drift
WARM_UP_LIMIT = 0.05  # median of the first samples over that of the others, from one
WARM_UP_SHARE = 0.2  # of the samples are the first ones
WARM_UP_SAMPLES = 15  # fewer cannot tell the first ones from the others
WARM_UP_SIGNIFICANCE = 0.01


def _margin(logarithms: Sequence[float], count: int) -> float:
    """Half the width of the confidence interval that `count` processes as noisy as these give their mean."""
    quantile = stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)
    return float(quantile * np.std(logarithms, ddof=1) / np.sqrt(count))


def interval(processes: Sequence[Sequence[float]]) -> tuple[float, float, str]:
    """(low, high, kind) around a cell's wall time in seconds.

    kind `confidence`: the 95 % t interval over the average times of processes; `quartiles`: with fewer
    than three processes, where the middle half of all samples lies, which says nothing of other runs.
    """
    if len(processes) < LEAST_PROCESSES:
        low, high = np.quantile(np.concatenate(processes), [0.25, 0.75])
        return float(low), float(high), "quartiles"
    logarithms = np.log([np.mean(samples) for samples in processes])
    middle, margin = np.mean(logarithms), _margin(logarithms, len(processes))
    return float(np.exp(middle - margin)), float(np.exp(middle + margin)), "confidence"


def processes_needed(processes: Sequence[Sequence[float]], target: float, most: int) -> int:
    """How many processes a cell needs for an interval of relative width `target`, if further ones are as noisy as these
    (samples of at least three): as many as there are if they do, `most` if more would not."""
    logarithms = np.log([np.mean(samples) for samples in processes])
    counts = range(len(processes), most)
    narrow = (count for count in counts if 2 * _margin(logarithms, count) <= target)
    return next(narrow, max(len(processes), most))


def medians(records: Sequence[dict]) -> list[float]:
    """What a cell's processes took, to compare it with another one: the median of each one's samples (s). A disturbed
    batch does not move it, so it differs less between processes than their averages: by a quarter, in the cells
    named above."""
    return [float(np.median(record["samples"])) for record in records]


class Noise(NamedTuple):
    """How much processes of one cell differ in a run: variance of the logarithm of their times, worth `degrees` of
    freedom to each cell beside those of its own processes."""

    degrees: float
    variance: float


UNKNOWN = Noise(0.0, 0.0)


def noise(cells: Collection[Sequence[float]]) -> Noise:
    """The noise of a run, from what the processes of each of its cells took.

    Smyth's prior (2004, doi:10.2202/1544-6115.1027), known from gene expression, where thousands of genes have three
    samples each: variances of cells scatter about a common one, and the less they do the more one learns from the
    others. Maximum likelihood. Nothing is learned from fewer than ten cells with two processes.
    """
    repeated = [np.log(processes) for processes in cells if len(processes) > 1]
    if len(repeated) < NOISE_CELLS:
        return UNKNOWN
    own = np.array([len(logarithms) - 1 for logarithms in repeated])
    variances = np.maximum([np.var(logarithms, ddof=1) for logarithms in repeated], 1e-12)

    def cost(parameters: np.ndarray) -> float:
        degrees, variance = np.exp(parameters)
        return -float(np.sum(stats.f.logpdf(variances / variance, own, degrees) - np.log(variance)))

    start = np.log([4.0, np.median(variances)])
    degrees, variance = np.exp(optimize.minimize(cost, start, method="Nelder-Mead").x)
    return Noise(min(float(degrees), 1e4), float(variance))


class Ratio(NamedTuple):
    """Time of one cell over that of another, with its 95 % interval and the p value of being one (NaN: too few
    processes), and what follows: `faster`, `slower` or `inconclusive`."""

    ratio: float
    low: float
    high: float
    p: float
    verdict: str


def ratio(
    cell: Sequence[float],
    reference: Sequence[float],
    cell_noise: Noise = UNKNOWN,
    reference_noise: Noise = UNKNOWN,
) -> Ratio:
    """A cell's time over a reference's, from what the processes of either took (s): the one way to compare two cells.

    Welch's t interval of the difference of mean logarithms. Fewer than three processes on a side give no interval and
    the verdict `inconclusive`: a verdict needs more processes.

    Where many cells are compared, the noise of the run that each comes from adds to what a cell's few processes tell.

    Measured as above, share of verdicts between cells that do not differ (should be 5 %), with 3, 5, 10, and 3
    against 10 processes: this 2 to 4, 2 to 5, 2 to 5, 3 to 6 %; with noise learned 2 to 6 % each; percentile bootstrap 18 to
    21, 12 to 16, 9 to 12, 17 %; BCa bootstrap 20 to 22, 12 to 22, 8 to 20, 17 to 25 %. A permutation test keeps the 5 %, but cannot give
    a verdict with three processes.
    """
    estimate = float(np.exp(np.mean(np.log(cell)) - np.mean(np.log(reference))))
    if min(len(cell), len(reference)) < LEAST_PROCESSES:
        return Ratio(estimate, np.nan, np.nan, np.nan, "inconclusive")
    sides = []
    for times, learned in ((cell, cell_noise), (reference, reference_noise)):
        own = len(times) - 1
        degrees = own + learned.degrees
        variance = own * np.var(np.log(times), ddof=1) + learned.degrees * learned.variance
        sides.append((variance / degrees / len(times), degrees))
    squared = sum(variance for variance, _ in sides)
    if squared == 0:  # not in measured times
        return _judged(estimate, 0.0, float(estimate == 1))
    degrees = squared**2 / sum(variance**2 / degrees for variance, degrees in sides)
    error = np.sqrt(squared)
    p = 2 * stats.t.sf(abs(np.log(estimate)) / error, degrees)
    return _judged(estimate, stats.t.ppf((1 + CONFIDENCE) / 2, degrees) * error, p)


def _judged(estimate: float, margin: float, p: float) -> Ratio:
    low, high = float(estimate * np.exp(-margin)), float(estimate * np.exp(margin))
    verdict = "faster" if high < 1 else "slower" if low > 1 else "inconclusive"
    return Ratio(estimate, low, high, float(p), verdict)


def spread(samples: Sequence[float]) -> float:
    """Interquartile range over median."""
    return float(stats.iqr(samples) / np.median(samples))


def drift(samples: Sequence[float]) -> float:
    """Relative change from first to last sample, by the Theil-Sen slope; 0 for a few samples."""
    if len(samples) < DRIFT_SAMPLES:
        return 0.0
    slope = stats.theilslopes(samples).slope
    return float(slope * (len(samples) - 1) / np.median(samples))


def interference(reading: dict, cores: int) -> float | None:
    """Share of the machine's CPU time that went to others during timing; None where unknown."""
    if reading["other_cpu_s"] is None:
        return None
    return (reading["other_cpu_s"] + reading["steal_s"]) / (reading["wall_s"] * cores)


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
    """Whether the CPU was slowed down for heat or ran at different clocks, in or between a cell's processes.
    Unknown is no."""
    readings = [record["frequency"] for record in records if "frequency" in record]
    clocks = [at["mhz"] for reading in readings for at in reading.values() if at["mhz"]]
    throttled = any(
        (reading["after"]["throttled"] or 0) > (reading["before"]["throttled"] or 0)
        for reading in readings
    )
    return throttled or (bool(clocks) and max(clocks) / min(clocks) - 1 > FREQUENCY_LIMIT)


def flags(records: Sequence[dict]) -> list[str]:
    """What makes a cell's number doubtful, in words."""
    found = {"frequency"} if frequency_changed(records) else set()
    for record in records:
        samples, cores = record["samples"], record["machine"]["cores"]
        if spread(samples) > SPREAD_LIMIT:
            found.add("spread")
        if abs(drift(samples)) > DRIFT_LIMIT:
            found.add("drift")
        elif warming_up(samples):
            found.add("warm-up")
        if (interference(record["interference"], cores) or 0) > INTERFERENCE_LIMIT:
            found.add("interference")
        if record["load"]["before"][0] > LOAD_LIMIT * cores:
            found.add("load")
    return sorted(found)


def cell(records: Sequence[dict], batch: int) -> dict:
    """The numbers of one cell from the `ok` records of its processes.

    wall_s is the document's metric, the average time of one batch; over processes, the median of their
    averages; wall_median_s the median of their medians, which a disturbed batch does not move;
    wall_std_s, wall_min_s and wall_max_s are those of all samples together. elapsed_s is that of all timed batches of one process, sequences_per_s = batch / wall_s.
    """
    processes = [record["samples"] for record in records]
    wall = float(np.median([np.mean(samples) for samples in processes]))
    low, high, kind = interval(processes)
    batches = min(map(len, processes))

    def middle(*path: str) -> float | None:
        values = []
        for record in records:
            for key in path:
                record = record[key]
            values.append(record)
        known = [value for value in values if value is not None]
        return float(np.median(known)) if known else None

    return {
        "batches": batches,
        "wall_s": wall,
        "wall_low_s": low,
        "wall_high_s": high,
        "interval": kind,
        "wall_median_s": float(np.median([np.median(samples) for samples in processes])),
        "wall_std_s": float(np.std(np.concatenate(processes))),
        "wall_min_s": float(np.min(np.concatenate(processes))),
        "wall_max_s": float(np.max(np.concatenate(processes))),
        "elapsed_s": wall * batches,
        "sequences_per_s": batch / wall,
        "import_s": middle("setup", "import_s"),
        "build_s": middle("setup", "build_s"),
        "first_step_s": middle("setup", "first_step_s"),
        "peak_memory_bytes": middle("memory", "process_peak_bytes"),
        "device_peak_bytes": middle("memory", "device_peak_bytes"),
        "flags": " ".join(flags(records)),
    }


RELATIONS = {
    "ratio_to_torch": ["pytorch/fused"],
    "ratio_to_fastest": ["pytorch/fused", "pytorch/cudnn", "onnxruntime/lstm", "openvino/lstm"],
    "ratio_to_gemm": ["pytorch/gemm"],
    "ratio_to_peak": ["tvm/fma-peak"],
}


def relate(table: pd.DataFrame) -> pd.DataFrame:
    """Add each cell's median time over that of torch's nn.LSTM, of the fastest library and of the two
    ceilings, where the same benchmark, phase and device has them."""
    key = ["benchmark", "phase", "device"]
    for column, implementations in RELATIONS.items():
        others = table[table["implementation"].isin(implementations)]
        fastest = others.groupby(key, as_index=False)["wall_median_s"].min()
        joined = table[key].merge(fastest, on=key, how="left")
        table[column] = table["wall_median_s"].to_numpy() / joined["wall_median_s"].to_numpy()
    return table


def relate_to_baseline(table: pd.DataFrame, baselines: dict[str, str]) -> pd.DataFrame:
    """Add each cell's median time over that of the same implementation, phase and device on the benchmark
    that its own is compared with ({benchmark: baseline}); nothing where there is none."""
    key = ["implementation", "environment", "phase", "device"]
    others = table[["benchmark", *key, "wall_median_s"]].rename(columns={"benchmark": "baseline"})
    wanted = table[key].assign(baseline=table["benchmark"].map(baselines).astype(object))
    joined = wanted.merge(others, on=["baseline", *key], how="left")
    table["ratio_to_baseline"] = (
        table["wall_median_s"].to_numpy() / joined["wall_median_s"].to_numpy()
    )
    return table


def summary(table: pd.DataFrame) -> list[dict]:
    """What the ratios of each implementation come to, over the benchmarks whose names begin alike.

    [{"document", "implementation", "device", "group": `layer` of `layer-32x8x32`, "shapes": how many,
    and for each relation {"mean": geometric, "worst", "where": the benchmark}}]
    """
    forward = table[(table["phase"] == "forward") & (table["status"] == "ok")]
    keys = ["document", "implementation", "device", "group"]
    found = []
    grouped = forward.assign(group=forward["benchmark"].str.split("-").str[0])
    for names, rows in grouped.groupby(keys, sort=False):
        entry = dict(zip(keys, names, strict=True)) | {"shapes": len(rows)}
        for column in RELATIONS:
            if (known := rows.dropna(subset=[column])).empty:
                continue
            worst = known.loc[known[column].idxmax()]
            entry[column] = {"mean": stats.gmean(known[column]), "worst": worst[column]}
            entry[column]["where"] = worst["benchmark"]
        found.append(entry)
    return found


def changes(
    before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]], relevant: float
) -> pd.DataFrame:
    """What became of the cells that two runs measured, from what the processes of each took (s).

    before, after: {cell: `medians`}, of the same cells. A row a cell: `cell`, `before_s` and `after_s` (medians),
    `ratio` of after to before, `low`, `high`, `adjusted` (p value, see below) and `verdict`: `regression` or
    `improvement`, where the ratio differs from one significantly and by more than `relevant` (0.05: 5 %); `same`,
    where its interval lies within that; else `inconclusive`.

    p values are adjusted by Benjamini and Hochberg's procedure: of the cells named, 5 % are expected to be
    false alarms; where nothing differs, 5 % of comparisons name any cell, however many there are. Simulated as
    above with 100 cells and 5 % relevant: 0 to 5 % with 3, 5 or 10 processes on both sides, up to 10 % with 3 against 10.
    """
    noises = noise(before.values()), noise(after.values())
    found = {cell: ratio(after[cell], times, *noises[::-1]) for cell, times in before.items()}
    table = pd.DataFrame(found.values(), columns=Ratio._fields).drop(columns="verdict")
    table.insert(0, "cell", list(found))
    table.insert(1, "before_s", [float(np.median(before[cell])) for cell in found])
    table.insert(2, "after_s", [float(np.median(after[cell])) for cell in found])
    known = table["p"].notna()
    table["adjusted"] = np.nan
    if known.any():
        table.loc[known, "adjusted"] = stats.false_discovery_control(table.loc[known, "p"])
    significant, limit = table["adjusted"] <= 1 - CONFIDENCE, 1 + relevant
    table["verdict"] = np.select(
        [
            significant & (table["ratio"] > limit),
            significant & (table["ratio"] < 1 / limit),
            (table["high"] <= limit) & (table["low"] >= 1 / limit),
        ],
        ["regression", "improvement", "same"],
        "inconclusive",
    )
    return table.drop(columns="p")
