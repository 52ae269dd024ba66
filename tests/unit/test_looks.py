"""Ratios within rounds: against differences by hand, on incomplete blocks, and how often intervals contain the truth."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy import stats

from reporting import sections, tabulate
from stats import changes, estimates, undecided
from stats.rounds import Look, Rounds
from stats.samples import Times, beside_others, in_rounds, medians, with_prior
from tests.unit import simulated_looks

RANDOM = np.random.default_rng()


@pytest.fixture(autouse=True)
def own_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each test, whichever are before it."""
    monkeypatch.setitem(globals(), "RANDOM", np.random.default_rng(60))


def taken(rows: Mapping[str, Mapping[tuple[str, int, int], float]]) -> dict[str, Times]:
    """Rows of looks, {(block, round, process): s}, beside each other."""
    return with_prior(
        {name: Times(own.values(), looks=[Look(*key) for key in own]) for name, own in rows.items()}
    )


def noisy(rows: str, rounds: int, noise: float, block: str = "b") -> dict[str, dict]:
    """Rows a, b, ... of 1, 2, ... s, in rounds that a machine takes very different times for. Their two processes are alike."""
    level = RANDOM.normal(0, 0.5, rounds)
    return {
        name: {
            (block, k, k % 2): (number + 1) * math.exp(level[k] + noise * RANDOM.uniform(-1.7, 1.7))
            for k in range(rounds)
        }
        for number, name in enumerate(rows)
    }


def test_where_all_rows_are_in_all_rounds_it_is_students_interval_of_their_differences() -> None:
    rows = noisy("abc", 12, 0.1)
    cells = taken(rows)
    found = estimates.product([cells["a"], cells["b"]], [1, -1])
    differences = np.log([*rows["a"].values()]) - np.log([*rows["b"].values()])
    middle, error = differences.mean(), stats.sem(differences)
    (joined,) = cells["a"].place.rounds._joined.values()
    larger = (1 + joined.correlation) / (1 - joined.correlation)
    half = stats.t.ppf(0.975, 11) * error * larger**0.5
    low, high = np.log(found[1:])
    assert np.log(found[0]) == pytest.approx(middle, abs=error / 2)
    # All rows tell how noisy these two are, and successive rounds what they have in common.
    assert 0.6 * half < (high - low) / 2 < 1.7 * half


def test_on_a_quiet_machine_rows_need_no_common_rounds() -> None:
    """Differences within rounds lead from the first row to the last one in many steps; their means are as good as themselves."""
    noise, random = 0.01, np.random.default_rng(61)
    rows = {
        name: {
            ("b", k, k % 2): math.exp(noise * random.normal()) for k in range(3 * at, 3 * at + 6)
        }
        for at, name in enumerate("abcdefghijkl")
    }
    cells = taken(rows)
    _, low, high = estimates.product([cells["a"], cells["l"]], [1, -1])
    assert low < 1 < high
    assert math.log(high / low) / 2 < 4 * noise * (2 / 6) ** 0.5


def test_a_slow_minute_of_the_machine_shows_neither_in_a_ratio_nor_in_a_time() -> None:
    cells = taken(noisy("ab", 12, 0.01))
    _, low, high = estimates.product([cells["b"], cells["a"]], [1, -1])
    assert low < 2 < high and high / low < 1.04
    point, low, high = estimates.product([cells["a"]], [1])
    assert low < point < high and high / low < 1.04
    absolute = in_rounds([cells["a"]], [1.0])  # of the machine's next hour
    assert 4 * absolute.variance**0.5 > math.log(1.5)


def test_a_burst_that_hits_one_row_of_a_round_counts_little() -> None:
    rows = noisy("abc", 12, 0.01)
    quiet = estimates.product([*taken(rows).values()][:2], [1, -1])
    for key in [*rows["a"]][:2]:
        rows["a"][key] *= 1.5
    found = estimates.product([*taken(rows).values()][:2], [1, -1])
    assert found[0] == pytest.approx(quiet[0], rel=0.015)  # their mean moves by 7 %
    assert math.log(found[2] / found[1]) < 0.1  # 0.2 of plain differences


def test_blocks_are_joined_by_the_rows_that_they_share() -> None:
    first, second = noisy("abc", 10, 0.01), noisy("abcd", 10, 0.01, "later")
    # `a` and `b` in the first block, `d` in the second, which was three times as slow; `c` in both.
    rows = {
        "a": first["a"],
        "b": first["b"],
        "c": first["c"] | {key: 3 * time for key, time in second["c"].items()},
        "d": {key: 3 * time for key, time in second["d"].items()},
    }
    cells = taken(rows)
    point, low, high = estimates.product([cells["d"], cells["a"]], [1, -1])
    # Nothing else tells what a block does to a single row.
    assert low < 4 < high and high / low < 1.25
    by_hand = np.mean(np.log([*first["c"].values()]) - np.log([*first["a"].values()]))
    by_hand += np.mean(np.log([*second["d"].values()]) - np.log([*second["c"].values()]))
    assert point == pytest.approx(math.exp(by_hand), rel=0.005)


@pytest.mark.parametrize("names", ["a", "abc"])
def test_blocks_without_a_row_in_common_are_compared_by_their_times(names: str) -> None:
    """One is four times as slow, and it is not known why."""
    blocks = [noisy(names, 5, 0.01, block) for block in ("one", "two")]
    rows = {
        (at, name): {key: (1, 4)[at] * time for key, time in own.items()}
        for at, block in enumerate(blocks)
        for name, own in block.items()
    }
    cells = taken(rows)
    _, low, high = estimates.product([cells[1, "a"], cells[0, "a"]], [1, -1])
    means = [np.mean(np.log([*rows[at, "a"].values()])) for at in (0, 1)]
    assert low < math.exp(means[1] - means[0]) < high
    spread = [np.var(np.log([*rows[at, "a"].values()]), ddof=1) / 5 for at in (0, 1)]
    assert math.log(high / low) / 2 > 2 * sum(spread) ** 0.5


def test_one_look_that_is_off_joins_nothing() -> None:
    """Rows that met in one round only, in which one of them took twice as long: the others of its side stay where they are."""
    level = {("b", k, 1): math.exp(0.01 * RANDOM.normal()) for k in range(19)}
    rows = {
        name: {
            key: time * math.exp(0.01 * RANDOM.normal())
            for key, time in level.items()
            if key[1] in turns
        }
        for names, turns in (("ab", range(10)), ("cd", range(9, 19)))
        for name in names
    }
    rows["c"]["b", 9, 1] *= 2
    del rows["d"]["b", 9, 1]
    cells = taken(rows)
    for one, other in ("ca", "da", "db"):
        assert estimates.product([cells[one], cells[other]], [1, -1])[0] == pytest.approx(
            1, abs=0.1
        )


def test_a_time_that_is_shown_is_about_the_mean_of_its_looks() -> None:
    rows = noisy("abc", 8, 0.1)
    del rows["a"]["b", 0, 0], rows["b"]["b", 3, 1]
    cells = taken(rows)
    times = {name: estimates.product([each], [1])[0] for name, each in cells.items()}
    ratio = estimates.product([cells["a"], cells["b"]], [1, -1])[0]
    assert times["a"] / times["b"] == pytest.approx(ratio)
    # Of rounds that differ by half, and resemble the next ones by chance.
    looks = [*rows["c"].values()]
    assert stats.gmean(looks) / 1.2 < times["c"] < stats.gmean(looks) * 1.2


def test_rates_and_products_of_powers_are_of_the_same_rounds() -> None:
    cells = taken(noisy("abc", 9, 0.05))
    a, b, c = cells.values()
    time, low, high = estimates.product([a, c, b], [1, 1, -2])
    rate = estimates.product([a.to(-1, 5.0), c.to(-1), b.to(-2)], [1, 1, -1])
    assert rate == pytest.approx((5 / time, 5 / high, 5 / low))
    assert estimates.product([a, a], [1, -1]) == pytest.approx((1, 1, 1))


def test_too_few_rounds_have_no_interval() -> None:
    cells = taken(noisy("ab", 2, 0.1))
    assert np.isnan(estimates.product([cells["a"], cells["b"]], [1, -1])[1:]).all()


def test_a_look_alone_in_a_block_tells_nothing() -> None:
    """Not even if it is its row's median, of which nothing seems to be left."""
    rows = noisy("abc", 5, 0.02)
    middle = sorted(rows["a"], key=rows["a"].get)[2]
    alone = rows["a"].pop(middle)
    found = []
    for more in ({}, {("other", 0, 0): alone}, {("other", 0, 0): 2 * alone}):
        cells = taken(rows | {"a": rows["a"] | more})
        found.append(estimates.product([cells["a"], cells["b"]], [1, -1]))
    assert found[1] == pytest.approx(found[0]) and found[2] == pytest.approx(found[0])


def test_looks_that_do_not_differ() -> None:
    cells = taken({name: {("b", k, k % 2): 1.0 for k in range(4)} for name in "ab"})
    point, low, high = estimates.product([cells["a"], cells["b"]], [1, -1])
    assert low <= point == 1 <= high < 1.001


def test_of_one_process_each_it_is_not_known_how_much_processes_differ() -> None:
    """These differ by 1.5 % as on quiet machines, and their looks by 0.1 %."""
    random, outside = np.random.default_rng(62), 0
    for _ in range(20):
        rows = {
            name: {("b", k, 1): own * math.exp(0.001 * random.normal()) for k in range(5)}
            for name in "ab"
            for own in [math.exp(0.015 * random.normal())]
        }
        cells = taken(rows)
        _, low, high = estimates.product([cells["a"], cells["b"]], [1, -1])
        outside += not low < 1 < high
    assert outside <= 3


def test_the_interval_of_a_time_has_its_own_noise_not_that_of_other_rows() -> None:
    rows = noisy("abcdef", 12, 0.05)
    rows["b"] = {key: time * math.exp(RANDOM.normal(0, 0.2)) for key, time in rows["b"].items()}
    cells = taken(rows)
    both = [beside_others(cells[name], 1).variance for name in "ab"]
    assert 2 * both[0] < both[1]
    ratio = in_rounds([cells["a"], cells["b"]], [1, -1])
    assert sum(both) == pytest.approx(ratio.variance, rel=0.1)


def test_further_looks_are_expected_in_common_rounds() -> None:
    """Of rows in early and in late rounds of a machine that slows down and recovers little is known; of further looks, which take turns,
    more."""
    slow = np.cumsum(RANDOM.normal(0, 0.1, 120))
    rows = {
        name: {
            ("b", k, k % 2): math.exp(slow[k] + 0.01 * RANDOM.normal())
            for k in range(first, first + 8)
        }
        for first, names in ((0, "abcdef"), (100, "ghijkl"))
        for name in names
    }
    cells = taken(rows)

    def width(one: str, other: str, looks: int) -> float:
        _, low, high = estimates.product([cells[one], cells[other]], [1, -1], processes=looks)
        return math.log(high / low)

    assert width("a", "g", 0) > 5 * width("a", "b", 0)
    assert width("a", "g", 16) < 2 * width("a", "b", 8)
    assert width("a", "b", 16) == pytest.approx(width("a", "b", 8) / 2**0.5, rel=0.15)


def test_rows_that_were_measured_again_are_joined_to_the_others() -> None:
    """By the quickest two of both that may have a further process; rows of one block are joined already."""
    rows = noisy("abcd", 6, 0.01) | {
        name: own for name, own in noisy("efg", 6, 0.01, "later").items()
    }
    cells = taken(rows)
    seconds = dict(zip("abcdefg", (5, 1, 3, 4, 9, 8, 7), strict=True))
    more = dict.fromkeys("acdefg", 9)
    (found,) = undecided.of_apart(cells, more, seconds)
    assert found.processes == dict.fromkeys("cdfg", 9)
    joined = rows | {
        "c": rows["c"] | {("later", k, 2): time for (_, k, _), time in rows["c"].items()}
    }
    assert not [*undecided.of_apart(taken(joined), more, seconds)]
    assert not [*undecided.of_apart(cells, {}, seconds)]


def test_what_belongs_to_a_process_is_in_the_interval() -> None:
    """Here processes of one row differ by 20 %, and their looks by 1 %."""
    random = np.random.default_rng(0)
    level = dict(enumerate(random.normal(0, 0.5, 20)))
    rows = {
        f"row {number}": {
            ("b", k, process): math.exp(level[k] + luck[process] + 0.01 * random.normal())
            for k in level
            for process in (1, 2)
        }
        for number in range(20)
        for luck in [dict(enumerate(random.normal(0, 0.2, 3)))]
    }
    cells = [*taken(rows).values()]
    rounds = cells[0].place.rounds
    variance, pairs = rounds.between_processes
    assert pairs == 20 and 0.1 < variance**0.5 < 0.3
    pairs_of_rows = zip(cells[::2], cells[1::2], strict=True)
    found = [estimates.product(pair, [1, -1])[1:] for pair in pairs_of_rows]
    assert sum(low < 1 < high for low, high in found) >= 8


def test_what_a_block_does_to_single_rows_is_in_ratios_between_blocks_only() -> None:
    """Looks differ by 0.5 %, and rows by 5 % from block to block; one takes 1.6 times as long in one of them."""
    random = np.random.default_rng(62)
    rows: dict[str, dict] = {f"row {number}": {} for number in range(20)}
    alone = {"row 0": "one", "row 1": "one", "row 2": "two"}
    for block in ("one", "two", "three"):
        level = random.normal(0, 0.5, 6)
        for name in (name for name in rows if alone.get(name, block) == block):
            own = 0.5 if (name, block) == ("row 9", "two") else random.normal(0, 0.05)
            rows[name] |= {
                (block, k, k % 2): math.exp(level[k] + own + 0.005 * random.normal())
                for k in range(6)
            }
    cells = taken(rows)
    variance, further = cells["row 0"].place.rounds.between_blocks
    assert further == 17 * 2 - 2 and 0.04 < variance**0.5 < 0.09
    halves = {}
    for other in ("row 1", "row 2", "row 3"):
        _, low, high = estimates.product([cells["row 0"], cells[other]], [1, -1])
        halves[other] = math.log(high / low) / 2
    assert halves["row 1"] < 0.03
    assert 2 * 0.03 < halves["row 3"] < halves["row 2"] < 5 * 0.07
    _, low, high = estimates.product([cells["row 0"]], [1])
    assert math.log(high / low) / 2 > 0.05


def test_by_one_row_in_both_blocks_is_not_known_what_they_do_to_single_ones() -> None:
    one, two = noisy("abc", 8, 0.005), noisy("abc", 8, 0.005, "later")
    cells = taken({"a": one["a"], "b": two["b"], "c": one["c"] | two["c"]})
    assert cells["a"].place.rounds.between_blocks[1] == 0
    _, low, high = estimates.product([cells["a"], cells["b"]], [1, -1])
    assert math.log(high / low) / 2 > 2 * 0.015


def test_looks_of_records() -> None:
    records = [
        {
            "identity": {"process": process},
            "looks": [{"block": "x y", "round": 4, "batches": [3.0, 1.0, 2.0 * process]}],
        }
        for process in (1, 2)
    ]
    found = medians(records)
    assert found == (2.0, 3.0)
    assert [Look.read(str(look)) for look in found.looks] == [Look("x y", 4, 1), Look("x y", 4, 2)]
    assert Rounds({}).between_processes == Rounds({}).between_blocks == (0.0, 0)


@pytest.mark.parametrize(
    ("how", "count"),
    [(simulated_looks.run, 50), (simulated_looks.joined, 40), (simulated_looks.chained, 20)],
)
def test_intervals_contain_the_truth_on_recorded_looks(how: Callable, count: int) -> None:
    """Of so few runs of each place; `python -m tests.unit.simulated_looks` has more."""
    found = pd.DataFrame(
        simulated_looks.of_ratios(1, noise, 12, 1.05, count, how)
        for noise in simulated_looks.recorded().values()
    ).mean()
    assert found["inside"] >= 0.93
    assert found["wrong"] <= 0.015


def test_two_runs_are_compared_by_what_differs_beside_other_rows() -> None:
    """The second one's machine is 1.3 times as slow, and one row 1.1 times as slow beside it."""
    names = "abcdefghijkl"
    before, after = (noisy(names, 12, 0.01) for _ in range(2))
    slow = {"a": 1.43} | dict.fromkeys(names[1:], 1.3)
    shift = np.mean([math.log(time) for time in before["a"].values()])
    shift -= np.mean([math.log(time) for time in after["a"].values()])
    after = {
        name: {key: time * slow[name] * math.exp(shift) for key, time in own.items()}
        for name, own in after.items()
    }
    runs = taken(before), taken(after)
    level = changes.level(*runs, [*names])
    assert level and level.ratio == pytest.approx(1.3, rel=0.2)
    found = changes.changes(*runs, 0.03, level).set_index("cell")["verdict"]
    assert found["a"] == "regression" and {*found.drop("a")} <= {"same", "undecided"}


def test_a_table_keeps_what_rounds_tell(tmp_path: Path) -> None:
    rows = noisy("abc", 6, 0.1)
    del rows["b"]["b", 2, 0]
    columns = {"status": "ok", "machine": "m", "device": "cpu", "interval": "confidence"}
    times = [Times(own.values(), looks=[Look(*key) for key in own]) for own in rows.values()]
    table = pd.DataFrame(
        [
            columns
            | {"process_medians_s": each, "wall_median_s": float(np.median(each)), "gflops": 8.0}
            | {"wall_low_s": 0.0, "wall_high_s": 0.0}
            for each in times
        ]
    )
    table = tabulate.with_noise(table)
    kept = tmp_path / "cells.parquet"
    pq.write_table(tabulate.documented(table), kept)
    read = sections.with_noise(pd.read_parquet(kept))
    found, expected = (
        estimates.product(each["process_medians_s"].iloc[:2].to_list(), [1, -1])
        for each in (read, table)
    )
    assert found == pytest.approx(expected)
    walls = table["wall_median_s"]
    assert walls[0] / walls[1] == pytest.approx(expected[0])
    expected = [8 * float(np.median(each)) for each in times]
    assert list(table["gflops"] * walls) == pytest.approx(expected)
