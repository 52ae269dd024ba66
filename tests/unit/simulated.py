"""How often verdicts are wrong, on processes whose truth is known: `python -m tests.unit.simulated` prints the tables."""

from collections.abc import Iterator

import numpy as np

from reporting import claims
from reporting.claims import FAILS, HOLDS, SAME

# Standard deviations of log times between the processes of 76 cells measured on a virtual machine of two cores: twenty
# quantiles.
NOISE = [
    *(0.0011, 0.0016, 0.0029, 0.0034, 0.0047, 0.0065, 0.0086, 0.0096, 0.0108, 0.0118),
    *(0.0131, 0.0140, 0.0143, 0.0146, 0.0164, 0.0213, 0.0250, 0.0378, 0.0435, 0.0734),
]
BOUND = 1.2
MOST = 10  # processes of a cell, as in config.yaml
CASES = (1, 2, 4, 8, 16)


class Run:
    """Cells of a run, each with its own noise; further processes are as noisy as the first.

    odd: the share of processes that take twice as long in every batch.
    """

    def __init__(self, random: np.random.Generator, odd: float = 0.0) -> None:
        self.random, self.odd = random, odd
        self.truth: dict[tuple, float] = {}
        self.noise: dict[tuple, float] = {}
        self.times: dict[tuple, list[float]] = {}

    def measure(self, cell: tuple, processes: int) -> None:
        """Until a cell has so many processes."""
        noise = self.noise.setdefault(cell, self.random.choice(NOISE))
        times = self.times.setdefault(cell, [])
        while len(times) < processes:
            slow = 2 if self.random.random() < self.odd else 1
            times.append(
                slow * self.truth[cell] * float(np.exp(noise * self.random.standard_normal()))
            )

    def numbers(self) -> claims.Numbers:
        return {(*cell, "wall_s"): claims.of_times(times) for cell, times in self.times.items()}


def claim(cases: int, fastest_of: int = 1) -> dict:
    """That x/a takes more than the bound as long as the fastest of some others, in every case."""
    others = [f"x/b{number}" for number in range(fastest_of)]
    return {
        **{"name": "c", "document": "d", "lines": "1", "statement": "s", "above": BOUND},
        "for": {
            "benchmark": [f"b{number}" for number in range(cases)],
            **{"phase": "forward", "device": "cpu"},
        },
        "ratios": {"r": {"of": {"implementation": "x/a"}, "to": {"implementation": others}}},
    }


def runs(
    random: np.random.Generator, cases: int, fastest_of: int, processes: int, odd: float, count: int
) -> Iterator[Run]:
    """Runs in which every case lies on the bound."""
    for _ in range(count):
        run = Run(random, odd)
        for number in range(cases):
            for name in ["x/a", *(f"x/b{other}" for other in range(fastest_of))]:
                cell = (f"b{number}", name, "forward", "cpu")
                run.truth[cell] = BOUND if name == "x/a" else 1.0
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
) -> float:
    """The share of claims on their bound that a verdict falls on, which is wrong whatever it is; with two looks,
    undecided ones get further processes in between."""
    found, wrong = claim(cases, fastest_of), 0
    for run in runs(np.random.default_rng(seed), cases, fastest_of, processes, odd, count):
        if looks == 2:
            for cell, wanted in claims.further_processes([found], run.numbers(), MOST).items():
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


def main() -> None:
    count = 4000
    columns = {
        "each case alone": lambda cases: each_case_alone(1, cases, count),
        "three processes": lambda cases: decided(2, cases, count),
        "ten processes": lambda cases: decided(3, cases, count, processes=10),
        "three, then up to ten": lambda cases: decided(4, cases, count, looks=2),
        "fastest of three": lambda cases: decided(5, cases, count, fastest_of=3),
        "one process in ten twice as slow": lambda cases: decided(6, cases, count, odd=0.1),
    }
    print("| cases |", " | ".join(columns), "|")
    for cases in CASES:
        shares = (f"{100 * share(cases):.1f} %" for share in columns.values())
        print(f"| {cases} |", " | ".join(shares), "|", flush=True)


if __name__ == "__main__":
    main()
