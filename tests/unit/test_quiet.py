"""Which stretches of batches are quiet, by the readings around them and by what others took meanwhile."""

import pytest

from measurement import quiet
from stats import clean


def reading(
    gflops: float,
    gbytes_per_s: float = 20.0,
    by: str = "c",
    handovers_per_s: float | None = None,
    threads: int = 2,
) -> dict:
    rates = {"gflops": gflops, "gbytes_per_s": gbytes_per_s, "handovers_per_s": handovers_per_s}
    return rates | {"threads": threads, "by": by}


def reasons(before: dict | None, after: dict | None, best: dict) -> list[str]:
    return quiet.reasons({"before": before, "after": after, "interference": None}, best, 2)


RUN = quiet.best(
    [
        *(reading(500), reading(500, 25.0), reading(250), reading(480, 25.0)),
        *(reading(9, 30.0, "numpy"), reading(8, 28.0, "numpy")),
    ]
)


def test_best_of_a_run() -> None:
    assert RUN == {
        ("c", 2): {"gflops": 500, "gbytes_per_s": 25.0},
        ("numpy", 2): {"gflops": 9, "gbytes_per_s": 30.0},
    }


def test_one_lucky_reading_puts_no_other_off() -> None:
    usual, lucky = reading(500), reading(500, 100.0)
    of_run = quiet.best(5 * [usual] + [lucky])
    assert not any(reasons(each, usual, of_run) for each in (usual, lucky))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (reading(500, 25.0), reading(460, 20.0), []),
        (
            reading(250, 25.0),
            reading(500, 25.0),
            ["multiply-adds before the timed batches at 0.50 of the run's best"],
        ),
        (
            reading(500, 25.0),
            reading(449, 14.0),
            [
                "multiply-adds after the timed batches at 0.90 of the run's best",
                "memory after the timed batches at 0.56 of the run's best",
            ],
        ),
        (reading(9, 29.0, "numpy"), reading(8.5, 28.0, "numpy"), []),
    ],
)
def test_reasons(before: dict, after: dict, expected: list[str]) -> None:
    assert reasons(before, after, RUN) == expected


def test_threads_far_from_each_other() -> None:
    """All else as fast as ever, or faster."""
    near, far = reading(500, 60.0, "c", 17e6), reading(510, 110.0, "c", 5.5e6)
    of_run = quiet.best(6 * [near] + [far])
    assert reasons(near, near, of_run) == []
    assert reasons(near, far, of_run) == [
        "hand-overs between threads after the timed batches at 0.32 of the run's best"
    ]


def test_fast_memory_of_far_threads_puts_no_near_ones_off() -> None:
    near, far = reading(500, 55.0, "c", 17e6), reading(510, 105.0, "c", 5.5e6)
    of_run = quiet.best(4 * [near] + 6 * [far])
    assert reasons(near, near, of_run) == []
    assert len(reasons(far, far, of_run)) == 2
    slow = reading(500, 40.0, "c", 17e6)
    assert reasons(slow, near, of_run) == [
        "memory before the timed batches at 0.73 of the run's best"
    ]


def test_one_thread_is_not_held_against_two() -> None:
    one, two = reading(250, 30.0, threads=1), reading(500, 60.0, "c", 17e6)
    of_run = quiet.best(4 * [two] + [one])
    assert reasons(one, one, of_run) == []


def test_nothing_to_compare() -> None:
    assert reasons(None, None, RUN) == []
    assert reasons(reading(1), reading(1), {}) == []


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
