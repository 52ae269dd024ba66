"""Further processes go where they are likely to decide something, what a second decides most of first."""

import math
from dataclasses import replace

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
    pairs = [*undecided.two_fastest(numbers, ["x/a", "x/b", "x/c"])]
    (found,) = undecided.of_fastest(pairs, numbers, 10)
    assert {cell[1] for cell in found.processes} == {"x/a", "x/b"} and found.chance > 0.5
    apart = measured(a_b=[1.0, 1.001, 1.002], b_b=[2.0, 2.001, 2.002])
    assert not [*undecided.of_fastest(undecided.two_fastest(apart, ["x/a", "x/b"]), apart, 10)]


def test_as_many_further_ones_as_are_likely_to_leave_enough_clean_ones() -> None:
    off = [False, True, False]
    assert undecided.cleaned(off, 10, good=0.9) == (4, pytest.approx(0.9))
    assert undecided.cleaned(off, 10, good=0.5) == (6, pytest.approx(1 - 0.5**3))
    assert undecided.cleaned([True] * 3, 5, good=0.9) == (5, 0.0)  # two never make three
    assert undecided.cleaned(off, 3, good=0.9) == (3, 0.0)


def test_a_cell_with_too_few_clean_processes() -> None:
    off = {
        "one": [False, True, False],
        "none": [False] * 3,
        "two of five": [True] * 2 + [False] * 3,
    }
    (found,) = undecided.of_disturbed(off, 10, good=0.9)
    assert found == Statement("one disturbed", {"one": 4}, pytest.approx(0.9), 1.0)


def test_a_verdict_that_is_decided_but_for_clean_processes() -> None:
    """Where it holds, all its cells need them; where it does not, those of one case that says so."""
    holds = measured(a_b=[2.0, 2.01, 2.02], b_b=[1.0] * 3, a_c=[2.0, 2.01, 2.02], b_c=[1.0] * 3)
    fails = {key: number for key, number in holds.items() if key[1] == "x/b"}
    fails |= measured(a_b=[0.5, 0.51, 0.52], a_c=[0.5, 0.51, 0.52])
    off = {key[:-1]: [True, False, False] for key in holds if key[1] == "x/b"}
    off |= {key[:-1]: [False] * 3 for key in holds if key[1] == "x/a"}
    for numbers, expected in ((holds, [{"b", "c"}]), (fails, [{"b"}, {"c"}])):
        noisy = {key: replace(number, noisy=key[1] == "x/b") for key, number in numbers.items()}
        found = [*undecided.of_likely([CLAIM], [], noisy, off, 10, good=0.9)]
        assert [{cell[0] for cell in each.processes} for each in found] == expected
        assert {cell[1] for each in found for cell in each.processes} == {"x/b"}
        assert {count for each in found for count in each.processes.values()} == {4}
        assert {each.name for each in found} == {"c likely"}
        assert not [*undecided.of_likely([CLAIM], [], numbers, off, 10, good=0.9)]


def test_a_verdict_of_many_cells_asks_for_more_of_each() -> None:
    """So that all of them are as likely to get their clean one as a single cell is."""
    shapes = [*"bcdefghi"]
    times = {f"a_{each}": [2.0, 2.01, 2.02] for each in shapes}
    numbers = measured(**times, **{f"b_{each}": [1.0] * 3 for each in shapes})
    noisy = {key: replace(number, noisy=key[1] == "x/b") for key, number in numbers.items()}
    off = {key[:-1]: [True, False, False] for key in numbers}
    claim = CLAIM | {"for": CLAIM["for"] | {"benchmark": shapes}}
    (found,) = undecided.of_likely([claim], [], noisy, off, 10, good=0.8)
    assert {*found.processes.values()} == {6}  # 4 is enough of one
    assert found.chance == pytest.approx((1 - 0.2**3) ** 8)


def test_which_row_to_use_rests_on_clean_processes() -> None:
    numbers = measured(a_b=[1.0, 1.001, 1.002], b_b=[2.0, 2.001, 2.002], c_b=[3.0] * 3)
    off = {key[:-1]: [True] * 3 for key in numbers}
    noisy = {key: replace(number, noisy=key[1] != "x/b") for key, number in numbers.items()}
    pairs = undecided.two_fastest(noisy, ["x/a", "x/b", "x/c"])
    (found,) = undecided.of_likely([], pairs, noisy, off, 10, good=1.0)
    assert found.processes == {("b", "x/a", "training", "cpu"): 6} and found.chance == 1


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
