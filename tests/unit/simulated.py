"""How often verdicts are wrong, on processes whose truth is known: `PYTHONPATH=scripts python -m tests.unit.simulated`
prints the tables."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from stats import claims, estimates, samples, undecided
from stats.claims import FAILS, HOLDS, SAME
from stats.quantities import Numbers, of_times

# Standard deviations of log times between the processes of 76 cells measured on a virtual machine of two cores: twenty
# quantiles.
NOISE = [
    *(0.0011, 0.0016, 0.0029, 0.0034, 0.0047, 0.0065, 0.0086, 0.0096, 0.0108, 0.0118),
    *(0.0131, 0.0140, 0.0143, 0.0146, 0.0164, 0.0213, 0.0250, 0.0378, 0.0435, 0.0734),
]
# How noisy the rows of a run may be: standard deviations of so many.
NOISES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "alike": lambda random, rows: np.full(rows, 0.03),
    "chi-squared, 1.5": lambda random, rows: 0.03 * np.sqrt(1.5 / random.chisquare(1.5, rows)),
    "chi-squared, 5": lambda random, rows: 0.03 * np.sqrt(5 / random.chisquare(5, rows)),
    "lognormal": lambda random, rows: 0.03 * np.exp(0.9 * random.standard_normal(rows)),
    "recorded": lambda random, rows: random.choice(NOISE, rows),
    "1 % or 10 %": lambda random, rows: random.choice([0.01, 0.1], rows),
    "one in seven has none": lambda random, rows: random.choice([1e-6, *[0.03] * 6], rows),
}
ROWS = 30  # of a run, as many as `make report` has of stacked-lm
BOUND = 1.2
MOST = 10  # processes of a cell, as in config.yaml
CASES = (1, 2, 4, 8, 16)


class Run:
    """Cells of a run, each with its own noise; further processes are as noisy as the first.

    odd: the share of processes that take twice as long in every batch; level: how many times noisier it is than NOISE.
    """

    def __init__(self, random: np.random.Generator, odd: float = 0.0, level: float = 1.0) -> None:
        self.random, self.odd, self.level = random, odd, level
        self.truth: dict[tuple, float] = {}
        self.noise: dict[tuple, float] = {}
        self.times: dict[tuple, list[float]] = {}

    def measure(self, cell: tuple, processes: int) -> None:
        """Until a cell has so many processes."""
        noise = self.noise.setdefault(cell, self.level * self.random.choice(NOISE))
        times = self.times.setdefault(cell, [])
        while len(times) < processes:
            slow = 2 if self.random.random() < self.odd else 1
            times.append(
                slow * self.truth[cell] * float(np.exp(noise * self.random.standard_normal()))
            )

    def numbers(self) -> Numbers:
        cells = samples.with_prior(self.times)
        return {(*cell, "wall_s"): of_times(times) for cell, times in cells.items()}


def claim(cases: int, fastest_of: int = 1) -> dict:
    """That x/a takes more than the bound as long as the fastest of some others, in every case."""
    others = [f"x/b{number}" for number in range(fastest_of)]
    return {
        **{"name": "c", "document": "d", "lines": "1", "statement": "s", "above": BOUND},
        "for": {"benchmark": [f"b{k}" for k in range(cases)], "phase": "forward", "device": "cpu"},
        "ratios": {"r": {"of": {"implementation": "x/a"}, "to": {"implementation": others}}},
    }


def runs(
    random, cases: int, fastest_of: int, processes: int, odd: float, count: int, level: float = 1.0
) -> Iterator[Run]:
    """Runs in which every case lies on the bound, with rows beside them that no case is about."""
    for _ in range(count):
        run = Run(random, odd, level)
        for number in range(cases):
            for name in ["x/a", *(f"x/b{other}" for other in range(fastest_of))]:
                cell = (f"b{number}", name, "forward", "cpu")
                run.truth[cell] = BOUND if name == "x/a" else 1.0
                run.measure(cell, processes)
        while len(run.times) < ROWS:
            cell = ("beside", f"x/{len(run.times)}", "forward", "cpu")
            run.truth[cell] = 1.0
            run.measure(cell, processes)
        yield run


def decided(
    seed: int,
    cases: int,
    count: int,
    fastest_of: int = 1,
    processes: int = 3,
    looks: int = 1,
    odd: float = 0.0,
    most: int = MOST,
    level: float = 1.0,
    limit: float | None = None,
) -> float:
    """The share of claims on their bound that a verdict falls on, which is wrong whatever it is; with two looks,
    undecided ones that may be decided get further processes in between, up to `most`, and no more than `limit`."""
    found, wrong = claim(cases, fastest_of), 0
    for run in runs(np.random.default_rng(seed), cases, fastest_of, processes, odd, count, level):
        if looks == 2:
            open_ones = [*undecided.of_claims([found], run.numbers(), most)]
            there, seconds = (dict.fromkeys(run.times, each) for each in (processes, 1.0))
            for cell, wanted in undecided.chosen(open_ones, there, seconds, limit).items():
                run.measure(cell, wanted)
        wrong += claims.decide(found, run.numbers())["verdict"] in (HOLDS, FAILS, SAME)
    return wrong / count


def each_case_alone(seed: int, cases: int, count: int) -> float:
    """The same without correction: a claim fails if one case's own interval lies beyond the bound."""
    wrong = 0
    for run in runs(np.random.default_rng(seed), cases, 1, 3, 0.0, count):
        found = claims.decide(claim(cases), run.numbers())["cases"]
        above = [case["low"] > BOUND for case in found]
        wrong += all(above) or any(case["high"] < BOUND for case in found)
    return wrong / count


def equals(
    seed: int, noise: str, rows: int, processes: int, odd=0.0, count=2000, moderated=True
) -> tuple[float, float, float]:
    """Of so many pairs of equal rows the share that is told apart, and the half widths of their intervals, the median and
    the 90 % quantile; `odd`: the share of processes that take twice as long."""
    random, apart, widths = np.random.default_rng(seed), 0, []
    while len(widths) < count:
        deviations = NOISES[noise](random, rows)[:, None]
        times = np.exp(deviations * random.standard_normal((rows, processes)))
        times *= 1 + (random.random(times.shape) < odd)
        found = dict(enumerate(times.tolist()))
        cells = samples.with_prior(found) if moderated else found
        for one in range(0, rows, 2):
            _, low, high = estimates.product([cells[one], cells[one + 1]], [1, -1])
            apart += not low <= 1 <= high
            widths.append(math.log(high / low) / 2)
    return apart / len(widths), *(float(np.quantile(widths, share)) for share in (0.5, 0.9))


def main() -> None:
    count = 4000
    cases_of_equals = [(12, 3, 0.0), (30, 3, 0.0), (76, 3, 0.0), (30, 5, 0.0), (30, 3, 0.1)]
    columns = {
        f"{rows} rows, {n} processes, {odd:.0%} odd": (rows, n, odd)
        for rows, n, odd in cases_of_equals
    }
    print("| noise |", " | ".join(columns), "|")
    for noise in NOISES:
        shares = []
        for case in columns.values():
            own, shared = (
                equals(9, noise, *case, 10 * count, moderated) for moderated in (False, True)
            )
            narrower = " ".join(
                f"{after / before:.2f}" for before, after in zip(own[1:], shared[1:], strict=True)
            )
            shares.append(f"{100 * own[0]:.1f} to {100 * shared[0]:.1f} %, {narrower}")
        print(f"| {noise} |", " | ".join(shares), "|", flush=True)
    print()
    columns = {
        "each case alone": lambda cases: each_case_alone(1, cases, count),
        "three processes": lambda cases: decided(2, cases, count),
        "ten processes": lambda cases: decided(3, cases, count, processes=10),
        "three, then up to ten": lambda cases: decided(4, cases, count, looks=2),
        "three, then up to five, five times as noisy, four further ones at most": lambda cases: (
            decided(8, cases, count, looks=2, most=5, level=5, limit=4)
        ),
        "fastest of three": lambda cases: decided(5, cases, count, fastest_of=3),
        "one process in ten twice as slow": lambda cases: decided(6, cases, count, odd=0.1),
    }
    print("| cases |", " | ".join(columns), "|")
    for cases in CASES:
        shares = (f"{100 * share(cases):.1f} %" for share in columns.values())
        print(f"| {cases} |", " | ".join(shares), "|", flush=True)


def drawn(random: np.random.Generator, noise: float, count: int, middle: float = 1.0) -> list:
    return list(middle * np.exp(noise * random.standard_normal(count)))


if __name__ == "__main__":
    main()
