"""Further processes go where they are likely to decide something, what a second decides most of first."""

import math

import pytest

from stats import undecided
from stats.quantities import Numbers, of_times
from stats.undecided import Statement

CLAIM = {
    **{"name": "c", "document": "d", "lines": "1", "statement": "s", "above": 1},
    "for": {"benchmark": ["b", "c"], "phase": "training", "device": "cpu"},
    "ratios": {"r": {"of": {"implementation": "x/a"}, "to": {"implementation": "x/b"}}},
}


def measured(**cells: list[float]) -> Numbers:
    """a_c: implementation x/a on benchmark c."""
    return {
        (benchmark, f"x/{name}", "training", "cpu", "wall_s"): of_times(times)
        for key, times in cells.items()
        for name, benchmark in [key.split("_")]
    }


def statement(name: str, chance: float, *cells: str, worth: float = 1.0) -> Statement:
    return Statement(name, dict.fromkeys(cells, 5), chance, worth)


@pytest.mark.parametrize(
    ("middle", "expected"), [(1.0, 0.124), (math.exp(0.1), 0.5), (math.exp(0.2), 0.876), (1.5, 1.0)]
)
def test_chance_that_an_interval_clears_its_bound(middle: float, expected: float) -> None:
    """Of a ratio whose error is 10 % with three processes and 5 % with twelve: its middle moves by 8.7 %."""

    def interval(confidence: float, processes: int) -> tuple[float, float, float]:
        error = 0.05 if processes else 0.1
        reach = (2 if confidence > 0.9 else 1) * error
        return middle, middle * math.exp(-reach), middle * math.exp(reach)

    found = undecided.inside(interval, (1.0, math.inf), 3, 12, 0.95)
    assert found == pytest.approx(expected, abs=0.001)


def test_no_chance_without_an_interval() -> None:
    unknown = lambda *_: (1.0, 0.0, math.inf)  # noqa: E731
    assert undecided.inside(unknown, (1.0, math.inf), 2, 5, 0.95) == 0


def test_a_claim_by_all_its_cases_and_by_each_that_may_fail() -> None:
    """Of both the first may well fail, the other cannot; both holding is as good as impossible."""
    numbers = measured(
        a_b=[0.9, 0.95, 0.92], b_b=[1.0, 1.06, 1.03], a_c=[1.3, 1.5, 1.4], b_c=[1.0, 1.2, 1.1]
    )
    whole, fails, holds = undecided.of_claims([CLAIM], numbers, 10)
    assert {cell[0] for cell in fails.processes} == {"b"} and fails.chance > 0.5
    assert {cell[0] for cell in holds.processes} == {"c"} and holds.chance < 0.1
    assert whole.processes == fails.processes | holds.processes
    assert whole.chance >= fails.chance and {*whole.processes.values()} == {10}


def test_the_two_fastest_of_usable_rows() -> None:
    """The limit is no row to use; the third row is not among the two."""
    numbers = measured(a_b=[1.0, 1.01, 1.02], b_b=[1.05, 1.04, 1.08], c_b=[2.0] * 3, d_b=[0.5] * 3)
    (found,) = undecided.of_fastest(numbers, ["x/a", "x/b", "x/c"], 10)
    assert {cell[1] for cell in found.processes} == {"x/a", "x/b"} and found.chance > 0.5
    apart = measured(a_b=[1.0, 1.001, 1.002], b_b=[2.0, 2.001, 2.002])
    assert not [*undecided.of_fastest(apart, ["x/a", "x/b"], 10)]


def test_most_chance_a_second_first_within_the_time() -> None:
    there, seconds = dict.fromkeys("abcd", 3), {"a": 1.0, "b": 10.0, "c": 1.0, "d": 1.0}
    known = [
        statement("sure and dear", 1.0, "b"),
        statement("likely", 0.5, "a", "c"),
        statement("shares a cell", 0.3, "c", "d"),
        statement("hopeless", 0.05, "d"),
    ]
    assert undecided.chosen(known, there, seconds, None) == dict.fromkeys("abcd", 5)
    assert undecided.chosen(known, there, seconds, 6.0) == dict.fromkeys("acd", 5)
    assert undecided.chosen(known, there, seconds, 4.0) == dict.fromkeys("ac", 5)
    assert undecided.chosen(known, there, seconds, 0.0) == {}
    known.append(statement("a verdict", 0.6, "b", worth=20.0))
    assert undecided.chosen(known, there, seconds, 20.0) == {"b": 5}


def test_one_way_to_decide_a_thing_is_enough() -> None:
    there, seconds = dict.fromkeys("ab", 3), dict.fromkeys("ab", 1.0)
    known = [statement("claim", 0.6, "a", "b"), statement("claim", 0.5, "a")]
    assert undecided.chosen(known, there, seconds, None) == {"a": 5}
