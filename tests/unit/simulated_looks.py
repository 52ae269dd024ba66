"""How often intervals within rounds contain the truth, on looks that were recorded: `PYTHONPATH=scripts python -m
tests.unit.simulated_looks` prints the table; test_looks.py holds a part of it.

Recorded looks (looks.csv) lose what their rows take, so that all that is left is noise as the machine had it, and get planted
ratios. Of Emerald Rapids they are thirty rounds of ten processes that took turns; of Zen 5, successive batches of one process, dealt to
three rows in a round. A run is made of blocks of successive rounds, drawn anew, so that what they have in common stays. Every row has two processes, which are alike, as what they differ by was taken away.
"""

import csv
import math
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stats import claims, estimates
from stats.claims import FAILS, HOLDS, SAME
from stats.quantities import of_times
from stats.rounds import Look
from stats.samples import Times, with_prior

LOOKS = Path(__file__).with_name("looks.csv")
BLOCK = 5  # successive rounds that are drawn together
PLANTED = (1.0, 1.03, 1.05, 1.1)
SHARED = 2  # rows that both blocks have
LIVING = 7  # processes at a time
Array = np.ndarray


class Noise(NamedTuple):
    """Log times without what rows take, (rounds, rows); `dealt`: of one process, so that rows are equal in every round."""

    table: Array
    dealt: bool


def recorded() -> dict[str, Noise]:
    """{where and what: noise}"""
    found = {}
    read: dict[str, dict] = defaultdict(dict)  # {where and what: {(row, process): s of each round}}
    with LOOKS.open(newline="") as stream:
        _, *lines = csv.reader(stream)
    for name, row, process, *seconds in lines:
        read[name][row, process] = [*map(float, seconds)]
    for name, processes in read.items():
        table = np.log([*processes.values()]).T
        dealt = len({row for row, _ in processes}) == 1
        looks = [Look("b", k, k % 2) for k in range(len(table))]
        cells = with_prior({key: Times(own, looks=looks) for key, own in processes.items()})
        taken = np.array([estimates.product([each], [1])[0] for each in cells.values()])
        found[name] = Noise(table - (np.median(table) if dealt else np.log(taken)), dealt)
    return found


def _drawn(random: np.random.Generator, noise: Noise, rounds: int) -> Array:
    """So many rounds of the noise, in blocks of time; who is which row is drawn, too."""
    starts = random.integers(0, len(noise.table), -(-rounds // BLOCK))
    at = np.concatenate([(start + np.arange(BLOCK)) % len(noise.table) for start in starts])
    drawn = noise.table[at[:rounds]]
    if noise.dealt:
        return random.permuted(drawn, axis=1)
    return drawn[:, random.permutation(drawn.shape[1])]


def _beside(looks: dict[str, list[tuple[Look, float]]]) -> dict[str, Times]:
    return with_prior(
        {n: Times([time for _, time in own], looks=[k for k, _ in own]) for n, own in looks.items()}
    )


def run(random: np.random.Generator, noise: Noise, rounds: int, planted: float) -> dict[str, Times]:
    """Rows that all take 1 s, but for `a`, which takes `planted`, in one block."""
    drawn = _drawn(random, noise, rounds)
    names = "abcdefghijkl"[: drawn.shape[1]]
    return with_prior(
        {
            name: Times(
                (planted if name == "a" else 1.0) * np.exp(drawn[:, at]),
                looks=[Look("one", k, k % 2) for k in range(rounds)],
            )
            for at, name in enumerate(names)
        }
    )


def joined(
    random: np.random.Generator, noise: Noise, rounds: int, planted: float
) -> dict[str, Times]:
    """The same in two blocks, at other times: `a` in the first one, `b` in the second, SHARED rows in both."""
    looks: dict[str, list[tuple[Look, float]]] = defaultdict(list)
    for block, own in (("one", "a"), ("two", "b")):
        drawn = _drawn(random, noise, rounds) + random.normal(0, 0.2)
        for at, name in enumerate([own, *"cd"[:SHARED]]):
            factor = planted if name == "a" else 1.0
            looks[name] += [
                (Look(block, k, k % 2), factor * math.exp(drawn[k, at])) for k in range(rounds)
            ]
    return _beside(looks)


def chained(
    random: np.random.Generator, noise: Noise, rounds: int, planted: float
) -> dict[str, Times]:
    """Rows that take turns as processes live: LIVING at a time, another one as one has had its rounds, so that `a` and `b` are not
    in the same ones."""
    names = ["a", *(f"row {number}" for number in range(2 * LIVING)), "b"]
    drawn = _drawn(random, noise, len(names) * rounds)
    column = {name: at % drawn.shape[1] for at, name in enumerate(names)}
    looks: dict[str, list[tuple[Look, float]]] = defaultdict(list)
    waiting, living, turn = [*names], [], 0
    while waiting or living:
        free = [each for each in range(drawn.shape[1]) if each not in map(column.get, living)]
        while waiting and len(living) < min(LIVING, drawn.shape[1]):
            column[waiting[0]] = free.pop()  # a column is one row's at a time
            living.append(waiting.pop(0))
        for name in living:
            value = drawn[turn, column[name]]
            factor = planted if name == "a" else 1.0
            looks[name].append((Look("one", turn, turn % 2), factor * math.exp(value)))
        turn += 1
        # Some need more rounds than others.
        living = [n for n in living if len(looks[n]) < rounds + names.index(n) % 4]
    return _beside(looks)


def of_ratios(
    seed: int, noise: Noise, rounds: int, planted: float, count: int, how=run
) -> dict[str, float]:
    """Of so many runs the share of intervals that contain the ratio that was planted, of verdicts that say the opposite of it
    (that equal rows differ), of those that find it, and the half width of the typical interval."""
    random, inside, wrong, right, halves = np.random.default_rng(seed), 0, 0, 0, []
    for _ in range(count):
        cells = how(random, noise, rounds, planted)
        found = estimates.ratio([cells["a"]], [cells["b"]])
        inside += found.low <= planted <= found.high
        wrong += found.verdict in (("faster",) if planted > 1 else ("faster", "slower"))
        right += found.verdict == ("slower" if planted > 1 else "same")
        halves.append(math.log(found.high / found.low) / 2)
    shares = {"inside": inside / count, "wrong": wrong / count, "right": right / count}
    return shares | {"half": float(np.median(halves))}


def of_claims(seed: int, noise: Noise, rounds: int, planted: float, count: int) -> float:
    """Of claims whose one case lies on its bound, the share that is decided, which is wrong whatever the verdict is."""
    random, wrong = np.random.default_rng(seed), 0
    claim = {
        **{"name": "c", "document": "d", "lines": "1", "statement": "s", "above": planted},
        "for": {"benchmark": "x", "phase": "forward", "device": "cpu"},
        "ratios": {"r": {"of": {"implementation": "a"}, "to": {"implementation": "b"}}},
    }
    for _ in range(count):
        numbers = {
            ("x", name, "forward", "cpu", "wall_s"): of_times(times)
            for name, times in run(random, noise, rounds, planted).items()
        }
        wrong += claims.decide(claim, numbers)["verdict"] in (HOLDS, FAILS, SAME)
    return wrong / count


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| looks of | rounds | planted | inside | wrong | right | half width | claims on it |")
    print("|:--|--:|--:|--:|--:|--:|--:|--:|")
    for name, noise in recorded().items():
        for rounds in (6, 12, 24):
            for planted in PLANTED if rounds == 12 else PLANTED[:1]:
                found = of_ratios(1, noise, rounds, planted, count)
                claimed = of_claims(2, noise, rounds, planted, count)
                shares = (f"{100 * share:.1f} %" for share in (*found.values(), claimed))
                print(f"| {name} | {rounds} | {planted} |", " | ".join(shares), "|", flush=True)
            for what, how in (("two blocks", joined), ("as processes live", chained)):
                found = of_ratios(3, noise, rounds, 1.0, count, how)
                shares = (f"{100 * share:.1f} %" for share in found.values())
                print(f"| {name}, {what} | {rounds} | 1 |", " | ".join(shares), "| |", flush=True)


if __name__ == "__main__":
    main()
