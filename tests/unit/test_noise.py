"""How noisy a machine was: on records whose noise is known."""

import math

import numpy as np
import pytest

from commands import noise as command
from stats import noise


def record(samples: list[float], gflops: float = 100.0, steal_s: float | None = 0.0) -> dict:
    one = {"gflops": gflops, "gbytes_per_s": 10.0, "handovers_per_s": None}
    one |= {"threads": 2, "by": "c"}
    reading = {"wall_s": 1.0, "own_cpu_s": 2.0, "other_cpu_s": 0.0, "steal_s": steal_s}
    return {
        "samples": samples,
        "yardstick": {"before": one, "after": one},
        "interference": reading,
    }


def drawn(random: np.random.Generator, processes: int = 4) -> list[dict]:
    """Processes that lie apart by 10 %, which their multiply-adds tell, and batches by 2 %."""
    found = []
    for _ in range(processes):
        own = 0.1 * random.standard_normal()
        found.append(
            record(list(np.exp(own + 0.02 * random.standard_normal(9))), 100 * math.exp(-own))
        )
    return found


@pytest.fixture(scope="module")
def cells() -> list[list[dict]]:
    random = np.random.default_rng(1)
    return [drawn(random) for _ in range(100)]


def test_spread_within_processes_and_between_them(cells: list[list[dict]]) -> None:
    assert noise.within(cells)[1] == pytest.approx(0.02, rel=0.1)
    assert noise.between(cells)[1] == pytest.approx(0.1, rel=0.1)


def test_two_of_four_processes_agree_by_the_root_of_two(cells: list[list[dict]]) -> None:
    """Of normal noise the mean agrees better than the lower end."""
    found = noise.agreement(cells)
    mean, faster = (found["median", name][1] for name in ("mean", "faster"))
    assert mean == pytest.approx(0.1 / math.sqrt(2), rel=0.1) and faster > 1.05 * mean
    assert not noise.agreement([cell[:3] for cell in cells])


def test_a_signal_that_tells_the_state_explains_it(cells: list[list[dict]]) -> None:
    found = noise.explained(cells)
    assert found["multiply-adds, the lower"] > 0.9
    assert found["memory, mean"] == found["steal"] == pytest.approx(0, abs=1e-9)
    assert found["all together"] >= found["multiply-adds, the lower"]
    assert "hand-overs, mean" not in found  # was not read


def test_readings_of_stretches_are_those_of_the_process(cells: list[list[dict]]) -> None:
    """As records have them since a process is timed in several."""

    def stretched(one: dict) -> dict:
        own = one | {"stretches": [one["yardstick"] | {"batches": 1, "interference": None}]}
        return {key: value for key, value in own.items() if key != "yardstick"}

    found = noise.explained([[stretched(each) for each in cell] for cell in cells])
    assert found == noise.explained(cells)


def test_what_a_process_did_not_read_is_left_out(cells: list[list[dict]]) -> None:
    unread = [[record(each["samples"], steal_s=None) for each in cell] for cell in cells[:2]]
    assert noise.explained([*cells, *unread])["multiply-adds, the lower"] > 0.9


def test_command_refuses_a_folder_without_results(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["noise", str(tmp_path)])
    with pytest.raises(SystemExit, match="no results folder"):
        command.main()


def test_what_being_forked_costs() -> None:
    """Within a cell; a cell without both kinds says nothing."""
    cells = [[record([scale]), record([1.1 * scale]) | {"forked": True}] for scale in (1, 2, 5)]
    lonely = [record([1.0]), record([9.0])]
    found = noise.forked([*cells, lonely])
    assert found == {
        "cells": 3,
        "processes": 3,
        **{name: pytest.approx(1.1) for name in ("ratio", "low", "high")},
    }
    assert noise.forked([*cells[:2], lonely]) is None


def test_what_a_disturbance_costs() -> None:
    """Within a process: that another one is slow altogether does not matter."""
    one, two = (record(list(np.repeat([1.0, 1.1], [3, 2]) * factor)) for factor in (1, 5))
    read = one["yardstick"]["before"]
    still, loud = (
        {"before": r, "after": r, "interference": None} for r in (read, read | {"gflops": 50.0})
    )
    stretches = [still | {"batches": 3}, loud | {"batches": 2}]
    cells = [[each | {"stretches": stretches, "machine": {"cores": 2}}] for each in (one, two)]
    found = noise.disturbance(cells)
    assert found == {
        "stretches": 4,
        "quiet": 0.5,
        "processes": 2,
        "ratio": pytest.approx(1.1),
        "slower": 1.0,
    }
    assert noise.disturbance([[one | {"machine": {"cores": 2}}]]) is None
