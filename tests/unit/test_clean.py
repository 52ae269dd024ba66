"""Which batches and processes count, by the readings around them."""

import pytest

from stats import clean
from tests.unit.hand_made import QUIET, process


@pytest.mark.parametrize(
    ("off", "counting"),
    [
        ([False, False, True], [True] * 3),  # too few would be left
        ([False, False, True, False], [True, True, False, True]),
        ([True] * 4, [True] * 4),
        ([False] * 3, [True] * 3),
    ],
)
def test_processes_off_the_yardstick(off: list[bool], counting: list[bool]) -> None:
    assert clean.usable_mask(off) == counting


def stretch(batches: int, gflops: float, **meanwhile: float) -> dict:
    one = {"gflops": gflops, "gbytes_per_s": 10.0, "handovers_per_s": None, "threads": 2, "by": "c"}
    return {"batches": batches, "before": one, "after": one, "interference": QUIET | meanwhile}


BEST = {("c", 2): {"gflops": 100.0}}


def test_the_number_is_over_quiet_batches() -> None:
    """Whichever are the faster ones. Their memory and what others took meanwhile are those of the same stretches."""
    found = process([5.0, 5.0, 1.0, 1.0, 1.0, 7.0], status="ok", faults=[0, 1, 2, 3, 4, 5])
    found["stretches"] = [stretch(2, 100), stretch(3, 50), stretch(1, 95, own_cpu_s=7.0)]
    counted = clean.quiet_only(found, BEST)
    assert (counted["samples"], counted["faults"]) == ([5.0, 5.0, 7.0], [0, 1, 5])
    assert counted["interference"]["own_cpu_s"] == QUIET["own_cpu_s"] + 7.0
    assert clean.quiet_only(counted, BEST) == counted
    assert clean.quiet_share([found], BEST) == 0.5
    assert clean.disturbed([found, counted], BEST) == [False, False]


def test_without_a_quiet_batch_all_count() -> None:
    found = process([5.0, 1.0], status="ok", faults=[0, 0])
    found["stretches"] = [stretch(1, 50), stretch(1, 100, steal_s=9.0)]
    assert clean.quiet_only(found, BEST) is found
    assert clean.disturbed([found], BEST) == [True]
    assert clean.quiet_share([found], BEST) == 0
    quiet = [process([2.0], status="ok", faults=[0], stretches=[stretch(1, 100)])] * 3
    assert clean.usable_records([found, *quiet], BEST) == quiet
    assert clean.usable_records([found, *quiet[1:]], BEST) == [found, *quiet[1:]]
