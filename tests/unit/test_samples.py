"""What the cells of a document have in common."""

from collections.abc import Sequence

import numpy as np
import pytest

from stats import estimates, samples
from tests.unit import simulated
from tests.unit.simulated import drawn


def cells(random: np.random.Generator, noises: Sequence[float], processes: int) -> dict[int, list]:
    return {number: drawn(random, noise, processes) for number, noise in enumerate(noises)}


@pytest.mark.parametrize("freedom", [1.5, 5.0])
def test_what_cells_have_in_common(freedom: float) -> None:
    """Of 300 cells: the deviation that they scatter about, and no more degrees of freedom than they were drawn with, but
    half of those at least."""
    random = np.random.default_rng(9)
    noises = 0.03 * np.sqrt(freedom / random.chisquare(freedom, 300))
    found = samples.prior(cells(random, noises, 4).values())
    assert found.deviation == pytest.approx(0.03, rel=0.2)
    assert freedom / 2 < found.freedom <= freedom


def test_few_cells_that_happen_to_agree_are_not_trusted() -> None:
    """Their likeliest degrees of freedom are the most that are tried."""
    found = samples.prior([[1 - off, 1.0, 1 + off] for off in np.linspace(0.03, 0.031, 12)])
    assert 1 < found.freedom < 20


def test_fewer_than_ten_cells_have_nothing_in_common() -> None:
    some = cells(np.random.default_rng(1), [0.03] * 10, 3)
    assert samples.prior(some.values()).freedom > 0
    few = samples.with_prior(some | {0: [1.0]})  # whose noise is not known
    assert {times.prior for times in few.values()} == {samples.Prior()}
    assert estimates.product([few[1]], [1]) == estimates.product([some[1]], [1])


def test_an_interval_is_drawn_towards_the_others() -> None:
    """By hand: of variances of 0.01 and, with three degrees of freedom, 0.0001, a mean of 0.00406; 2.571 (t, five degrees of
    freedom) * 0.0637 / sqrt(3) of the logarithm."""
    times = [float(np.exp(power)) for power in (-0.1, 0.0, 0.1)]
    still = samples.Times(times, samples.Prior(3, 0.01))
    _, low, high = estimates.product([still], [1])
    assert np.log([low, high]) == pytest.approx([-0.0946, 0.0946], abs=1e-4)
    equal = samples.Times([1.0] * 3, samples.Prior(3, 0.01))  # by luck
    assert estimates.product([equal], [1])[2] > 1.01


def test_a_ratio_has_the_degrees_of_freedom_of_the_cell_with_fewest() -> None:
    """By hand: 2.776 (t, four degrees of freedom) * sqrt(0.04 / 3 + 0.04 / 8) of the logarithm."""
    prior = samples.Prior(2, 0.2)
    three = samples.Times(np.exp([-0.2, 0.0, 0.2]), prior)
    eight = samples.Times(np.exp(0.2 * np.sqrt(7 / 8) * np.array([-1, 1] * 4)), prior)
    _, low, high = estimates.product([three, eight], [1, -1])
    assert np.log([low, high]) == pytest.approx([-0.3759, 0.3759], abs=1e-4)
    _, low, high = estimates.product([three, eight], [1, -1], processes=8)
    assert np.log(high) == pytest.approx(2.262 * 0.1, abs=1e-4)


def test_products_of_more_cells_are_welchs() -> None:
    random = np.random.default_rng(2)
    plain = cells(random, [0.02] * 12, 3)
    shared = samples.with_prior(plain)
    for count in (2, 3):
        own, other = (
            estimates.product([each[n] for n in range(count)], [1] * count)
            for each in (plain, shared)
        )
        assert (own == other) == (count > 2)


def test_another_quantity_of_the_same_processes_is_as_noisy() -> None:
    times = samples.Times([1.0, 1.1, 1.3], samples.Prior(2, 0.05))
    _, low, high = estimates.product([times], [1])
    _, slow, fast = estimates.product([times.to(-1, 200)], [1])
    assert (200 / fast, 200 / slow) == pytest.approx((low, high))


@pytest.mark.parametrize("noise", simulated.NOISES)
def test_equal_rows_are_told_apart_as_rarely_as_they_should_be(noise: str) -> None:
    """2,000 pairs, in runs of 30 rows of three processes: 5 %, give or take what so many pairs scatter by."""
    apart, half, _ = simulated.equals(10, noise, 30, 3)
    _, own, _ = simulated.equals(10, noise, 30, 3, moderated=False)
    assert 0.005 < apart <= 0.065
    assert half < own
