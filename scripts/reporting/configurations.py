"""Which configuration would explain numbers whose document does not name one: what each of them would make of the others."""

import pandas as pd

from measurement import shapes
from plan import matrix
from plan.matrix import NOW
from reporting import published, tradeoff

P40_FLOPS = 12e12  # a second, single precision: NVIDIA's data sheet of the Tesla P40, which document 004 used


def explained(document: str, table: pd.DataFrame) -> list[dict]:
    """For each benchmark of a document that has published numbers of an `unnamed` one: [{"document", "benchmark",
    "words" of a batch, "flops" of a word's matrix products in training, "rates", "walls", "factor", "speedups"}].

    rates: of each published number of words per second {"implementation", "words_per_s", "wall_s": what a batch would
    then take, "share": of the GPU's peak that the matrix products would then need}; walls: the same of each published
    time of a batch; factor: how many times as long as its rate says a batch takes by the time published for the
    same implementation; speedups: {"implementation", "machine", "published", "measured", "low", "high", "agrees"}, of
    cells on the published device that have both.
    """
    unnamed = matrix.document(document).get("unnamed")
    if not unnamed:
        return []
    numbers = published.numbers(matrix.published_files(document))
    divided = [entry["implementation"] for entry in matrix.implementations() if "workers" in entry]
    several_gpus = numbers["implementation"].isin(divided)
    numbers = numbers[(numbers["benchmark"] == unnamed) & ~several_gpus]
    found = []
    for name, benchmark in matrix.document(document)["benchmarks"].items():
        if "baseline" in benchmark:  # no configuration of its own
            continue
        words = benchmark["batch"] * benchmark["length"]
        flops = tradeoff.PRODUCTS["training"] * shapes.forward_flops(benchmark) / words

        def implied(number, words_per_s: float, words=words, flops=flops) -> dict:
            return {
                "implementation": number.implementation,
                "words_per_s": words_per_s,
                "wall_s": words / words_per_s,
                "share": words_per_s * flops / P40_FLOPS,
            }

        rates = [implied(n, n.value) for n in _of(numbers, "words_per_s")]
        walls = [implied(n, words / n.value) for n in _of(numbers, "wall_s")]
        own = table[(table["document"] == document) & (table["benchmark"] == name)]
        found.append(
            {"document": document, "benchmark": name, "words": words, "flops": flops}
            | {"rates": rates, "walls": walls}
            | {"factor": _factor(rates, walls), "speedups": _speedups(numbers, own)}
        )
    return found


def _of(numbers: pd.DataFrame, quantity: str) -> list:
    return list(numbers[numbers["quantity"] == quantity].itertuples())


def _factor(rates: list[dict], walls: list[dict]) -> float | None:
    by_rate = {entry["implementation"]: entry["wall_s"] for entry in rates}
    both = (entry for entry in walls if entry["implementation"] in by_rate)
    return next((entry["wall_s"] / by_rate[entry["implementation"]] for entry in both), None)


def _speedups(numbers: pd.DataFrame, cells: pd.DataFrame) -> list[dict]:
    """Where the interval of a measured speed-up, or the value alone, meets that of the published one's rounding."""
    measured = cells[
        cells["speedup"].notna() & (cells["environment"].map(matrix.generation) == NOW)
    ]
    found = []
    for number in _of(numbers, "speedup"):
        same = (measured["implementation"] == number.implementation) & (
            measured["device"] == number.device
        )
        for cell in measured[same & (number.implementation != number.over)].itertuples():
            low, high = (
                cell.speedup if pd.isna(bound) else bound
                for bound in (cell.speedup_low, cell.speedup_high)
            )
            agrees = bool(low <= number.high and high >= number.low)
            found.append(
                {"implementation": number.implementation, "machine": cell.machine, "agrees": agrees}
                | {"published": number.value, "measured": cell.speedup, "low": low, "high": high}
            )
    return found
