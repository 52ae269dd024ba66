"""What half precision is allowed, and where it is asked for."""

import math

import pytest

from measurement import precision
from plan import matrix


def test_tolerance_of_bfloat16() -> None:
    """Eight significant bits: u = 1/256. An output is as far off as the steps that a unit remembers make it, 32 at most, and
    what comes in; a gradient is a sum over all of them, there and back."""
    assert precision.tolerance("bfloat16", "forward", 1, 15) == pytest.approx(3 / 256 * 4)
    assert precision.tolerance("bfloat16", "forward", 3, 2) == pytest.approx(3 / 256 * 3)
    longest = precision.tolerance("bfloat16", "forward", 2, 32)
    assert precision.tolerance("bfloat16", "forward", 2, 1024) == longest
    assert precision.tolerance("bfloat16", "training", 1, 12) == pytest.approx(3 / 256 * 5)
    assert precision.tolerance("int8", "forward", 1, 3) == pytest.approx(3 / 128 * 2)
    assert precision.tolerance("float32", "training", 3, 50) == 0


def test_a_gate_that_remembers_is_told_from_one_that_forgets_nothing() -> None:
    """bfloat16 numbers just below 1 are 1/256 apart; float32 remembers every step."""
    steps = precision.remembered("bfloat16", 1000)
    assert (steps, precision.remembered("bfloat16", 8)) == (32, 8)
    kept = 1 / (1 + math.exp(-math.log(steps) - 1))
    assert round(kept * 256) / 256 < 1
    assert precision.remembered("float32", 1024) == 1024


@pytest.mark.parametrize(
    ("asked", "told", "reason"),
    [
        ("bfloat16", {"bfloat16": {"matmul": 3}, "float32": {"matmul": 1}}, ""),
        ("bfloat16", {"bfloat16": {}, "float32": {"dot": 5}}, "float32 (5 dot)"),
        ("bfloat16", {"bfloat16": {}, "float32": {}}, "ran in bfloat16"),
        ("bfloat16", None, "ran in bfloat16"),
        ("int8", {"int8": {"LSTM": 1}, "float32": {}}, ""),
        ("int8", {"bfloat16": {"matmul": 3}, "float32": {}}, "ran in int8"),
    ],
)
def test_what_ran_in_another_format_is_not_timed_as_the_one_asked_for(asked, told, reason) -> None:
    found = precision.refusal(asked, told)
    assert reason in found and bool(found) == bool(reason)


def test_tolerance_of_a_check_is_that_of_the_benchmarks_format() -> None:
    shape, check = {"layers": 2, "length": 4}, {"tolerance": 1e-4}
    assert matrix.tolerance(check, shape, "training") == 1e-4
    half = matrix.tolerance(check, shape | {"data_type": "bfloat16"}, "training")
    assert half == pytest.approx(3 / 256 * 18**0.5)
