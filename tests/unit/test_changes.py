"""What changed between two runs, on made-up noise."""

import numpy as np
import pytest
from scipy import stats

from stats import changes
from tests.unit.simulated import NOISE, drawn


def run(random: np.random.Generator, noises: np.ndarray, processes: int) -> dict[str, list[float]]:
    """A run that measures each cell with its own noise."""
    return {str(number): drawn(random, noise, processes) for number, noise in enumerate(noises)}


@pytest.mark.parametrize(
    ("processes", "later", "noisier", "most"),
    [
        (3, 3, 1, 1),
        (10, 3, 4, 2),  # with a common noise for both runs, nearly each would name cells
    ],
)
def test_runs_that_do_not_differ_show_no_regression(processes, later, noisier, most) -> None:
    """20 comparisons of 100 cells. Promised: one of 20 names any cell."""
    random = np.random.default_rng(4)
    named = 0
    for _ in range(20):
        noises = random.choice(NOISE, 100)
        before, after = run(random, noises, processes), run(random, noisier * noises, later)
        verdicts = set(changes.changes(before, after, relevant=0.05)["verdict"])
        named += bool(verdicts & {"regression", "improvement"})
    assert named <= most


def test_cell_that_became_slower_is_named() -> None:
    """A tenth, in one cell of 100, in 20 comparisons: found unless that cell is one of the noisy ones."""
    random = np.random.default_rng(5)
    found = 0
    for _ in range(20):
        noises = random.choice(NOISE, 100)
        before, after = run(random, noises, 3), run(random, noises, 3)
        after["7"] = [1.1 * seconds for seconds in after["7"]]
        table = changes.changes(before, after, relevant=0.05).set_index("cell")
        found += table.loc["7", "verdict"] == "regression"
    assert found >= 11


def another_day(random: np.random.Generator, spread: float) -> tuple[dict, dict]:
    """Two runs of 100 cells, the second one of a day on which all take 1.14 times as long, give or take `spread`."""
    noises = random.choice(NOISE, 100)
    before, after = run(random, noises, 3), run(random, noises, 3)
    days = 1.14 * np.exp(spread * random.standard_normal(100))
    return before, {
        cell: [day * seconds for seconds in after[cell]]
        for cell, day in zip(after, days, strict=True)
    }


@pytest.mark.parametrize("spread", [0.0, 0.05])
def test_another_day_is_no_regression(spread: float) -> None:
    """20 comparisons: without a level, each names most cells."""
    random = np.random.default_rng(7)
    named, levels = [], []
    for _ in range(20):
        before, after = another_day(random, spread)
        level = changes.level(before, after, list(before))
        levels.append(level)
        found = changes.changes(before, after, 0.05, level)["verdict"]
        named.append(found.isin(["regression", "improvement"]).sum())
    assert sum(map(bool, named)) <= 3 and sum(named) <= 4  # of 2,000
    assert np.median([each.ratio for each in levels]) == pytest.approx(1.14, abs=0.01)
    assert np.median([each.spread for each in levels]) == pytest.approx(spread, abs=0.01)
    assert (changes.changes(before, after, 0.05)["verdict"] == "regression").sum() > 50


@pytest.mark.parametrize(
    ("cells", "slower", "by", "told", "least"),
    [
        (100, 25, 1.33, True, 8),  # the others tell what the day did
        (40, 10, 1.5, False, 9),  # with the same packages: an edit to a framework's implementations
        (40, 16, 1000, False, 9),
    ],
)
def test_what_many_cells_have_in_common_is_no_scatter_of_days(
    cells: int, slower: int, by: float, told: bool, least: int
) -> None:
    random, found, wrong = np.random.default_rng(10), 0, 0
    changed = [str(number) for number in range(slower)]
    for _ in range(10):
        before, after = (dict(list(run.items())[:cells]) for run in another_day(random, 0.02))
        after |= {cell: [by * seconds for seconds in after[cell]] for cell in changed}
        controls = [cell for cell in before if not told or cell not in changed]
        level = changes.level(before, after, controls)
        table = changes.changes(before, after, 0.05, level).set_index("cell")["verdict"]
        found += (table[changed] == "regression").sum()
        wrong += (table.drop(changed) == "regression").sum()
    assert found >= least * slower and wrong <= 0.05 * found


def test_few_cells_tell_no_level() -> None:
    before, after = another_day(np.random.default_rng(9), 0.0)
    assert changes.level(before, after, list(before)[:9]) is None


def test_verdicts_of_changes() -> None:
    quiet = {str(number): [1.0, 1.001, 0.999] for number in range(20)}
    after = quiet | {
        "slower": [1.1, 1.101, 1.099],
        "faster": [0.9, 0.901, 0.899],
        "irrelevant": [1.02, 1.021, 1.019],
        "noisy": [1.0, 1.5, 0.7],
        "once": [2.0],
    }
    before = {cell: [1.0, 1.001, 0.999] for cell in after}
    table = changes.changes(before, after, relevant=0.05).set_index("cell")
    assert table["verdict"].to_dict() == {
        **dict.fromkeys(quiet, "same"),
        **{"slower": "regression", "faster": "improvement", "irrelevant": "same"},
        **{"noisy": "undecided", "once": "undecided"},
    }
    assert table.loc["slower", "ratio"] == pytest.approx(1.1, abs=1e-4)
    assert table.loc["once", "processes"] == 1
    assert np.isnan(table.loc["once", "adjusted"])


def test_few_cells_are_judged_by_their_own_noise() -> None:
    before, after = {"a": [1.0, 1.01, 0.99]}, {"a": [1.1, 1.11, 1.09]}
    student = stats.ttest_ind(np.log(after["a"]), np.log(before["a"]))
    (row,) = changes.changes(before, after, relevant=0.05).to_dict("records")
    assert row["adjusted"] == pytest.approx(student.pvalue)
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.exp(student.confidence_interval())))
    assert row["verdict"] == "regression"
