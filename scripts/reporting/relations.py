"""How the cells of a table compare with each other: libraries, ceilings, baselines, frameworks. Only cells of one
machine are compared."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from plan import matrix
from stats import estimates

# Rows, or families of rows, whose fastest others are divided by.
RELATIONS = {
    "ratio_to_torch": ["pytorch/fused"],
    "ratio_to_fastest": ["pytorch/fused", "pytorch/cudnn", "library"],
    "ratio_to_gemm": ["pytorch/products-large"],
}
PEAK = "tvm/fma-peak"
BASELINE, SPEEDUP, SCALING = (
    [name, f"{name}_low", f"{name}_high"] for name in ("ratio_to_baseline", "speedup", "scaling")
)


def over(row: Mapping, other: Mapping) -> estimates.Ratio:
    """What one row takes over another."""
    return estimates.ratio([row["process_medians_s"]], [other["process_medians_s"]])


def against(
    cells: pd.DataFrame, others: pd.DataFrame, key: Sequence[str], inverted: bool = True
) -> np.ndarray:
    """Ratios with their intervals, a row of each cell: the time of the one of `others` with the same key over its own (or
    the inverse); NaN where a pair lacks one."""
    others = others[[*key, "process_medians_s"]].rename(columns={"process_medians_s": "others"})
    pairs = cells.merge(others, on=[*key], how="left")[["others", "process_medians_s"]]
    found = np.full((len(pairs), 3), np.nan)
    for at, other, own in pairs.dropna().itertuples():
        found[at] = estimates.product([other, own] if inverted else [own, other], [1, -1])
    return found


def fastest(table: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """Of each cell the label of the fastest of today's rows of these names or families, on the same machine, benchmark,
    phase and device; NaN where there is none."""
    key = ["machine", "benchmark", "phase", "device"]
    families = {entry["implementation"]: entry["family"] for entry in matrix.implementations()}
    rows = table["implementation"]
    of_today = table["environment"] == table["environment"].map(matrix.today)
    named = rows.isin(names) | rows.map(families).isin(names)
    others = table[of_today & named & table["wall_median_s"].notna()]
    best = others.groupby(key)["wall_median_s"].idxmin().rename("best").reset_index()
    return table[key].merge(best, on=key, how="left")["best"].set_axis(table.index)


def relate(table: pd.DataFrame) -> pd.DataFrame:
    """Add each cell's median time over that of torch's nn.LSTM, of the fastest library and of torch.mm, all of today,
    where the same machine has them on the same benchmark, phase and device, with the interval; and over what its operations take at the
    machine's multiply-add peak: the fastest process of any benchmark, since a limit is what was reached once."""
    times = table["process_medians_s"]
    for column, names in RELATIONS.items():
        best = fastest(table, names)
        pairs = pd.DataFrame({"of": times, "to": best.map(times)}).dropna()
        found = [estimates.product(pair, [1, -1]) for pair in pairs.itertuples(index=False)]
        columns = [column, f"{column}_low", f"{column}_high"]
        table[columns] = pd.DataFrame(found, pairs.index, columns).reindex(table.index)
        table.loc[best == table.index, columns] = 1.0, np.nan, np.nan
    peaks = table[(table["implementation"] == PEAK) & (table["status"] == "ok")]
    slowed = peaks["wall_median_s"] / peaks["process_medians_s"].map(min)
    best = peaks.assign(rate=peaks["gflops"] * slowed).groupby(["machine", "device"])["rate"].max()
    machine = pd.MultiIndex.from_frame(table[["machine", "device"]])
    table["ratio_to_peak"] = best.reindex(machine).to_numpy(float) / table["gflops"]
    return table


def relate_to_baseline(table: pd.DataFrame, baselines: dict[str, str]) -> pd.DataFrame:
    """Add each cell's ratio, with its interval, to the same implementation, phase and device on the benchmark
    that its own is compared with ({benchmark: baseline}); nothing where there is none."""
    key = ["machine", "implementation", "environment", "phase", "device"]
    wanted = table.assign(baseline=table["benchmark"].map(baselines).astype(object))
    others = table.rename(columns={"benchmark": "baseline"})
    table[BASELINE] = against(wanted, others, ["baseline", *key], inverted=False)
    return table


def speed_up(table: pd.DataFrame, over: dict[str, str]) -> pd.DataFrame:
    """Add how many times as fast each cell is, with the interval, as that of the implementation that its document
    compares with ({document: implementation}), in environments of one generation; nothing where there is none."""
    key = ["document", "machine", "benchmark", "phase", "device", "generation"]
    cells = table.assign(generation=table["environment"].map(matrix.generation))
    compared = cells["implementation"] == cells["document"].map(over)
    table[SPEEDUP] = against(cells, cells[compared], key)
    table.loc[compared, SPEEDUP[1:]] = np.nan  # over itself
    return table


def scale(table: pd.DataFrame, benchmarks: Mapping[str, dict]) -> pd.DataFrame:
    """Add, to each cell of an implementation that divides a batch among workers, how many there are, the
    implementation that computes the same undivided, and its scaling efficiency with the interval: its words a second
    over that one's in the same environment, over their number. Nothing where it divides nothing.

    That is on the same benchmark (strong scaling), or where `benchmarks`, {name: parameters}, has a baseline for it,
    on that one (weak scaling).
    """
    key = ["machine", "environment", "phase", "device"]
    entries = {entry["implementation"]: entry.get("workers") for entry in matrix.implementations()}
    divided = [entries.get(name) or {} for name in table["implementation"]]
    pairs = zip(divided, table["device"], strict=True)
    undivided = [workers.get("of", {}).get(device) for workers, device in pairs]
    renamed = {"implementation": "undivided", "benchmark": "base"}
    others = table[[*renamed, *key, "process_medians_s"]].rename(columns=renamed)
    table["workers"] = [workers.get("count", np.nan) for workers in divided]
    table["undivided"] = pd.Series(undivided, table.index, dtype=object)
    bases = {name: benchmarks.get(name, {}).get("baseline", name) for name in table["benchmark"]}
    cells = table.assign(base=table["benchmark"].map(bases))
    batches = {
        name: benchmarks[name]["batch"] / benchmarks[base]["batch"]
        for name, base in bases.items()
        if base != name
    }
    share = table["benchmark"].map(batches).fillna(1.0) / table["workers"]
    found = against(cells, others, [*renamed.values(), *key])
    table[SCALING] = found * share.to_numpy()[:, None]
    return table
