"""Statistics of a cell, in one place: everything a report says of raw samples is computed here.

The process is the unit. Within a process the batches follow each other and share their luck; between
fresh processes they do not. Nothing is deleted: a noisy cell keeps its number and gets a flag.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

import matrix

CONFIDENCE = 0.95
BOOTSTRAP_PROCESSES = 3  # fewer processes give no interval between them
SPREAD_LIMIT = 0.10  # interquartile range over median
INTERFERENCE_LIMIT = 0.05  # share of the machine's CPU time taken by others while timing
DRIFT_LIMIT = 0.05  # change over a process's samples, relative to their median
DRIFT_SAMPLES = 10  # fewer samples show no drift


def interval(processes: Sequence[Sequence[float]]) -> tuple[float, float, str]:
    """(low, high, kind) around a cell's wall time in seconds.

    kind `bootstrap`: 95 % percentile bootstrap of the median over processes; `quartiles`: with fewer
    than three processes, where the middle half of all samples lies, which says nothing of other runs.
    """
    if len(processes) < BOOTSTRAP_PROCESSES:
        low, high = np.quantile(np.concatenate(processes), [0.25, 0.75])
        return float(low), float(high), "quartiles"
    means = [np.mean(samples) for samples in processes]
    if np.ptp(means) == 0:
        return float(means[0]), float(means[0]), "bootstrap"
    found = stats.bootstrap(
        (means,),
        np.median,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(found.low), float(found.high), "bootstrap"


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


def flags(records: Sequence[dict]) -> list[str]:
    """What makes a cell's number doubtful, in words."""
    found = set()
    for record in records:
        samples = record["samples"]
        if spread(samples) > SPREAD_LIMIT:
            found.add("spread")
        if abs(drift(samples)) > DRIFT_LIMIT:
            found.add("drift")
        if (
            interference(record["interference"], record["machine"]["cores"]) or 0
        ) > INTERFERENCE_LIMIT:
            found.add("interference")
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
    ceilings, all of today, where the same benchmark, phase and device has them."""
    key = ["benchmark", "phase", "device"]
    of_today = table[table["environment"] == table["environment"].map(matrix.today)]
    for column, implementations in RELATIONS.items():
        others = of_today[of_today["implementation"].isin(implementations)]
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


def then_and_now(table: pd.DataFrame) -> list[dict]:
    """Every cell of an environment of the time beside the same implementation's in today's.

    [{"document", "benchmark", "implementation", "phase", "device"; "environment", "status",
    "framework_version" and "wall_s", each followed by `_then` and by `_now`; "ratio": wall time then over now;
    "inconclusive": whether the intervals around the two overlap}], None for what was not measured.
    """
    key = ["document", "benchmark", "implementation", "phase", "device"]
    shown = ["environment", "status", "framework_version", "wall_s", "wall_low_s", "wall_high_s"]
    cells = table[[*key, *shown]].assign(today=table["environment"].map(matrix.today))
    then, now = (
        cells[(cells["environment"] == cells["today"]) == of_today] for of_today in (False, True)
    )
    pairs = then.merge(now, on=[*key, "today"], suffixes=("_then", "_now"))
    pairs["ratio"] = pairs["wall_s_then"] / pairs["wall_s_now"]
    pairs["inconclusive"] = (pairs["wall_low_s_then"] <= pairs["wall_high_s_now"]) & (
        pairs["wall_low_s_now"] <= pairs["wall_high_s_then"]
    )
    pairs = pairs.drop(columns=["today", *pairs.filter(regex="low|high")])
    return pairs.astype(object).where(pairs.notna(), None).to_dict("records")


def summary(table: pd.DataFrame) -> list[dict]:
    """What the ratios of each implementation come to, over the benchmarks whose names begin alike.

    [{"document", "implementation", "environment", "device", "group": `layer` of `layer-32x8x32`, "shapes": how many,
    and for each relation {"mean": geometric, "worst", "where": the benchmark}}]
    """
    forward = table[(table["phase"] == "forward") & (table["status"] == "ok")]
    keys = ["document", "implementation", "environment", "device", "group"]
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
