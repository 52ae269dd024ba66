"""Ratios and their intervals, on times whose statistics are plain to see."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from stats import estimates, rows


@pytest.mark.parametrize(
    ("noise", "target", "expected"),
    [
        (0.1, 0.5, 3),  # 2 * 4.303 * 0.1 / sqrt(3) = 0.497
        (0.1, 0.4, 4),  # 2 * 3.182 * 0.1 / sqrt(4) = 0.318
        (0.1, 0.2, 7),  # 2 * 2.571 * 0.1 / sqrt(6) = 0.210; 2 * 2.447 * 0.1 / sqrt(7) = 0.185
        (0.1, 0.01, 10),
    ],
)
def test_processes_needed(noise: float, target: float, expected: int) -> None:
    times = [float(np.exp(power * noise)) for power in (-1, 0, 1)]
    assert estimates.processes_needed(times, target, most=10) == expected
    assert estimates.processes_needed(times, target, most=2) == 3  # no fewer than there are


def test_ratio_is_welchs() -> None:
    cell, reference = [2.0, 2.1, 2.3], [1.0, 1.1, 0.9, 1.05]
    found = estimates.ratio([cell], [reference])
    welch = stats.ttest_ind(np.log(cell), np.log(reference), equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(welch)))
    assert found.low < found.ratio < found.high
    assert found.verdict == "slower"
    assert estimates.ratio([reference], [cell]).verdict == "faster"
    assert estimates.ratio([reference], [cell]).low == pytest.approx(1 / found.high)


@pytest.mark.parametrize(
    ("cell", "reference"), [([2.0, 2.0], [1.0, 1.0, 1.0]), ([2.0, 2.0, 2.0], [1.0, 1.0])]
)
def test_few_processes_give_no_verdict(cell: Sequence[float], reference: Sequence[float]) -> None:
    found = estimates.ratio([cell], [reference])
    assert found.ratio == pytest.approx(2.0)
    assert np.isnan([found.low, found.high]).all()
    assert found.verdict == "undecided"


def test_the_point_lies_in_its_interval() -> None:
    """Four processes of ten take twice as long: the t interval around the mean does not reach the median."""
    times = [1.0] * 6 + [2.0] * 4
    logarithms = np.log(times)
    student = stats.t.interval(0.95, 9, logarithms.mean(), stats.sem(logarithms))
    assert np.exp(student[0]) > 1.0
    assert estimates.product([times], [1]) == pytest.approx((1.0, 1.0, np.exp(student[1])))
    assert rows.interval([{"samples": [time]} for time in times])[:2] == pytest.approx(
        (1.0, np.exp(student[1]))
    )
    assert estimates.ratio([times], [[1.0] * 3]).low == 1.0


def test_processes_that_agree_exactly() -> None:
    assert estimates.ratio([[2.0] * 3], [[1.0] * 3]) == (2.0, 2.0, 2.0, "slower")
    assert estimates.ratio([[1.0] * 3], [[1.0] * 3]) == (1.0, 1.0, 1.0, "same")


def test_the_root_of_a_time_is_known_twice_as_well() -> None:
    """As slopes of lines through logarithms are made of."""
    times = [1.0, 1.1, 1.3]
    whole, root = (np.log(estimates.product([times], [power])) for power in (1, 0.5))
    assert root == pytest.approx(0.5 * whole)
