"""Overheads and break-evens from numbers whose answer is known."""

import pandas as pd
import pytest

from reporting import tradeoff
from tests.unit import hand_made


def cell(implementation: str, wall_s: float, start_s: float = 0.0, **changes: object) -> dict:
    own = dict.fromkeys(tradeoff.ONCE) | {"build_s": 0.0, "first_step_s": start_s}
    own |= {"document": "stacked-lm", "benchmark": "stacked-lm", "phase": "forward"}
    return hand_made.row(implementation, wall_s, **own | changes)


COMPILED, EAGER = "pytorch/compiled", "pytorch/fine-grained"


@pytest.mark.parametrize(
    ("own", "other", "batches"),
    [
        # 5 + (n - 1) 0.25 <= 1 + (n - 1) 0.5 from n = 17 on.
        (cell(COMPILED, 0.25, 5.0), cell(EAGER, 0.5, 1.0), 17),
        (cell(COMPILED, 0.25, 1.0, tuning_s=4.0), cell(EAGER, 0.5, 1.0), 17),
        (cell(COMPILED, 0.25, 0.5), cell(EAGER, 0.5, 1.0), 1),
        (cell(COMPILED, 0.5, 5.0), cell(EAGER, 0.25, 1.0), None),
        (cell(COMPILED, 0.495, 5.0), cell(EAGER, 0.5, 1.0), None),
        (cell(COMPILED, 0.1, process_medians_s=[0.1]), cell(EAGER, 0.5), None),
    ],
)
def test_break_even(own: dict, other: dict, batches: int | None) -> None:
    (found,) = tradeoff.gains(pd.DataFrame([other, own]))
    assert (found.row["implementation"], found.other["implementation"]) == (COMPILED, EAGER)
    assert found.ratio.ratio == pytest.approx(other["wall_median_s"] / own["wall_median_s"])
    # 2.0 [1.96, 2.05] times as fast: by the lower end it is one batch more.
    assert found.batches == (batches and (batches, batches + (batches > 1)))


@pytest.mark.parametrize("failed", [COMPILED, EAGER])
def test_what_was_not_measured_gains_nothing(failed: str) -> None:
    statuses = dict.fromkeys((COMPILED, EAGER), "ok") | {failed: "timeout"}
    rows = [cell(name, 0.5, status=status) for name, status in statuses.items()]
    assert list(tradeoff.gains(pd.DataFrame(rows))) == []


def test_break_even_stays_within_a_generation() -> None:
    rows = [cell(EAGER, 0.5, 1.0), cell(EAGER, 9.0, 1.0, environment="old")]
    own = cell(COMPILED, 0.25, 5.0, environment="old")
    (found,) = tradeoff.gains(pd.DataFrame([*rows, own]))
    assert found.other["wall_median_s"] == 9.0
