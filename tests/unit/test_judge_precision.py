"""Further processes go to wide intervals, and to both sides of undecided claims."""

from plan.matrix import Cell
from steps import judge_precision

PROTOCOL = {"target_interval": 0.5, "most_processes": 8}
CLAIM = {
    **{"name": "c", "document": "d", "lines": "1", "statement": "s", "above": 1},
    "for": {"benchmark": "b", "phase": "training", "device": "cpu"},
    "ratios": {"r": {"of": {"implementation": "x/a"}, "to": {"implementation": "x/b"}}},
}


def cell(name: str, environment: str = "now") -> Cell:
    return Cell("b", name, environment, "training", "cpu")


def records(*medians: float, status: str = "ok") -> list[dict]:
    shape = {"batch": 20, "length": 10, "vocabulary": 100}
    return [{"status": status, "samples": [each] * 3, "benchmark": shape} for each in medians]


NEAR = {cell("x/a"): records(1.0, 1.06, 1.03), cell("x/b"): records(1.0, 1.01, 1.02)}
FAR = {cell("x/a", "x-2019"): records(3.0, 3.06, 3.03), cell("x/b", "x-2019"): records(1, 1.01, 1)}


def test_both_sides_of_an_undecided_claim() -> None:
    """In one generation; in another the same claim is decided. A cell that is in no claim needs nothing."""
    cells = NEAR | FAR | {cell("x/c"): records(1.0, 1.06, 1.03)}
    found = judge_precision.of_document(cells, [CLAIM], PROTOCOL)
    assert found == dict.fromkeys(NEAR, 8) | dict.fromkeys(FAR, 3) | {cell("x/c"): 3}
    assert judge_precision.of_document(cells, [], PROTOCOL) == dict.fromkeys(cells, 3)


def test_a_wide_interval_needs_them_without_a_claim() -> None:
    cells = {cell("x/a"): records(1.0, 1.5, 2.0)}
    assert judge_precision.of_document(cells, [], PROTOCOL) == {cell("x/a"): 8}


def test_without_an_interval_nothing_but_disturbed_ones() -> None:
    """Another process then must not depend on how the first ones came out."""
    cells = NEAR | {cell("x/c"): records(1.0, 1.5, 2.0)}
    found = judge_precision.of_document(cells, [CLAIM], PROTOCOL | {"target_interval": None})
    assert set(found.values()) == {3}


def test_a_claim_that_lacks_a_number_is_not_waited_for() -> None:
    cells = {cell("x/a"): records(1.0, 1.06, 1.03), cell("x/b"): records(1, 1, 1, status="failed")}
    assert set(judge_precision.of_document(cells, [CLAIM], PROTOCOL).values()) == {3}


def test_a_process_off_the_yardstick_is_replaced() -> None:
    assert judge_precision.replaced([False, True, False], PROTOCOL) == 4
    assert judge_precision.replaced([False] * 3, PROTOCOL) == 3
    assert judge_precision.replaced([True] * 6, PROTOCOL) == 8  # the most that a cell may have
    assert judge_precision.replaced([True] * 9, PROTOCOL) == 9  # never fewer than there are


def test_words_per_second_are_of_the_same_processes() -> None:
    claim = CLAIM | {"for": CLAIM["for"] | {"quantity": "words_per_s"}}
    found = judge_precision.of_document(NEAR, [claim], PROTOCOL)
    assert found == dict.fromkeys(NEAR, 8)
    (number,) = (
        n
        for key, n in judge_precision.numbers(NEAR).items()
        if key[1] == "x/a" and key[-1] == "words_per_s"
    )
    assert number.value == 200 / 1.03
