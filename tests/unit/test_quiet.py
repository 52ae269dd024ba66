"""Which stretches of batches are quiet, by the readings around them and by what others took meanwhile."""

import re

import pytest

from measurement import quiet
from stats import clean


def reading(
    gflops: float, gbytes_per_s=20.0, by: str = "c", handovers_per_s=None, threads: int = 2
) -> dict:
    rates = {"gflops": gflops, "gbytes_per_s": gbytes_per_s, "handovers_per_s": handovers_per_s}
    return rates | {"threads": threads, "by": by}


RUN = [
    *(reading(500), reading(500, 25.0), reading(250), reading(480, 25.0)),
    *(reading(9, 30.0, "numpy"), reading(8, 28.0, "numpy")),
]
USUAL, LUCKY, ONE = reading(500), reading(500, 100.0), reading(250, 30.0, threads=1)
TOGETHER, APART = reading(500, 55.0, "c", 17e6), reading(510, 105.0, "c", 5.5e6)
FAST, SLOW = reading(500, 25.0), reading(500, 40.0, "c", 17e6)
MOST_APART, WHEN = 4 * [TOGETHER] + 6 * [APART], ("before", "after")


def test_best_of_a_run() -> None:
    assert quiet.best(RUN) == {
        ("c", 2): {"gflops": 500, "gbytes_per_s": 25.0},
        ("numpy", 2): {"gflops": 9, "gbytes_per_s": 30.0},
    }


@pytest.mark.parametrize(
    ("run", "before", "after", "expected"),
    [
        (RUN, FAST, reading(460, 20.0), []),
        (RUN, reading(250, 25.0), FAST, ["multiply-adds before 0.50"]),
        (RUN, FAST, reading(449, 14.0), ["multiply-adds after 0.90", "memory after 0.56"]),
        (RUN, reading(9, 29.0, "numpy"), reading(8.5, 28.0, "numpy"), []),
        # One lucky reading puts no other off.
        (5 * [USUAL] + [LUCKY], USUAL, USUAL, []),
        (5 * [USUAL] + [LUCKY], LUCKY, USUAL, []),
        # Threads far from each other, all else as fast as ever, or faster.
        (6 * [TOGETHER] + [APART], TOGETHER, TOGETHER, []),
        (6 * [TOGETHER] + [APART], TOGETHER, APART, ["hand-overs between threads after 0.32"]),
        # Their fast memory puts no near ones off.
        (MOST_APART, TOGETHER, TOGETHER, []),
        (MOST_APART, APART, APART, [f"hand-overs between threads {w} 0.32" for w in WHEN]),
        (MOST_APART, SLOW, TOGETHER, ["memory before 0.73"]),
        (4 * [TOGETHER] + [ONE], ONE, ONE, []),  # one thread is not held against two
        (RUN, None, None, []),
        ([], reading(1), reading(1), []),
    ],
)
def test_reasons(run: list, before: dict, after: dict, expected: list[str]) -> None:
    stretch = {"before": before, "after": after, "interference": None}
    found = quiet.reasons(stretch, quiet.best(run), 2)
    told = re.compile(r"(.* (?:before|after)) .* ([\d.]+) of the run's best")
    assert [" ".join(told.match(each).groups()) for each in found] == expected


@pytest.mark.parametrize(
    ("meanwhile", "expected"),
    [
        ({"other_cpu_s": 0.05, "steal_s": 0.04}, []),
        ({"other_cpu_s": 0.25, "steal_s": 0.0}, ["others took 0.12 of the machine"]),
        ({"other_cpu_s": 0.0, "steal_s": 0.25}, ["others took 0.12 of the machine"]),
        ({"other_cpu_s": 0.03, "steal_s": 0.0, "wall_s": 0.2}, []),  # three ticks
        ({"other_cpu_s": 0.04, "steal_s": 0.0, "wall_s": 0.2}, ["others took 0.10 of the machine"]),
        ({"other_cpu_s": None, "steal_s": None}, []),
        ({"suspensions": 1}, ["the process was stopped, and went on"]),
    ],
)
def test_others_meanwhile(meanwhile: dict, expected: list[str]) -> None:
    known = {"wall_s": 1.0, "other_cpu_s": 0.0, "steal_s": 0.0, "suspensions": 0}
    stretch = {"before": None, "after": None, "interference": known | meanwhile}
    assert quiet.reasons(stretch, {}, 2) == expected


def test_stretches_of_a_record() -> None:
    """Those of a record from before there were any are one. A reading that two stretches share is one reading."""
    one, two, three = reading(1), reading(2), reading(3)
    old = {"samples": [1.0, 2.0], "yardstick": {"before": one, "after": two}}
    assert [each["batches"] for each in quiet.stretches(old)] == [2]
    assert quiet.readings(old) == [one, two]
    both = [{"before": one, "after": two}, {"before": two, "after": three}]
    assert quiet.readings({"samples": [1.0, 2.0], "stretches": both}) == [one, two, three]
    assert quiet.readings({"samples": [1.0]}) == quiet.readings({"status": "failed"}) == []


def looked(handovers: list[tuple[float, float]], taken: float = 0.0) -> dict:
    """A record of looks with such readings, one of which others took a part of."""
    meanwhile = {"wall_s": 0.5, "own_cpu_s": 1.0, "other_cpu_s": 0.0, "steal_s": 0.0}
    looks = [
        {"batches": [1.0 + k], "faults": [0], "interference": meanwhile, "handovers_per_s": [*pair]}
        for k, pair in enumerate(handovers)
    ]
    looks[0] = looks[0] | {"interference": meanwhile | {"other_cpu_s": taken}}
    ends = dict.fromkeys(("before", "after"), reading(500, handovers_per_s=5e6))
    return {"status": "ok", "looks": looks, "yardstick": ends, "machine": {"cores": 2}}


NEAR, FAR = 5e6, 1e6


@pytest.mark.parametrize(
    ("pairs", "taken", "left"),
    [
        (4 * [(NEAR, NEAR)], 0.0, [1, 2, 3, 4]),
        (4 * [(NEAR, NEAR)], 0.5, [2, 3, 4]),
        ([(NEAR, NEAR), (NEAR, FAR), (NEAR, NEAR), (NEAR, NEAR)], 0.0, [1, 3, 4]),
        ([(NEAR, NEAR), (FAR, NEAR), (NEAR, NEAR)], 0.0, [1, 2, 3]),  # too few else
        # Then only those are left out that others slowed more than the best three.
        ([(NEAR, NEAR), *3 * [(FAR, FAR)]], 0.5, [2, 3, 4]),
        ([(NEAR, NEAR), *2 * [(FAR, FAR)]], 0.5, [1, 2, 3]),
    ],
)
def test_disturbed_looks_do_not_count_where_others_are_enough(
    pairs: list[tuple[float, float]], taken: float, left: list[float]
) -> None:
    record = looked(pairs, taken)
    (counted,) = clean.usable_records([record], quiet.of_run([record]))
    assert [look["batches"][0] for look in counted["looks"]] == left


@pytest.mark.parametrize(
    ("blocks", "taken", "expected"), [("bbb", 0.0, True), ("bbb", 0.5, False), ("bbc", 0.0, False)]
)
def test_quiet_looks_of_one_block_join_rows(blocks: str, taken: float, expected: bool) -> None:
    record = looked(3 * [(NEAR, NEAR)], taken)
    for look, block in zip(record["looks"], blocks, strict=True):
        look["block"] = block
    assert clean.joins([record], quiet.of_run([record])) == expected
