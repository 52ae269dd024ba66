"""What half precision is allowed, and where it is asked for."""

import pytest

from measurement import precision
from plan import matrix


def test_tolerance_of_bfloat16() -> None:
    """Eight significant bits: u = 1/256; four standard deviations of sqrt(2 x layers x steps) roundings."""
    assert precision.tolerance("bfloat16", 2, 4) == pytest.approx(4 / 256 * 4)
    assert precision.tolerance("bfloat16", 1, 32) == pytest.approx(4 / 256 * 8)
    assert precision.tolerance("float32", 3, 50) == 0


def test_tolerance_of_a_check_is_that_of_the_benchmarks_format() -> None:
    shape = {"layers": 2, "length": 4}
    assert matrix.tolerance({"tolerance": 1e-4}, shape) == 1e-4
    half = shape | {"data_type": "bfloat16"}
    assert matrix.tolerance({"tolerance": 1e-4}, half) == pytest.approx(1 / 16)
