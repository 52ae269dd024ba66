"""Statistics of a cell on samples whose statistics are plain to see."""

import pandas as pd
import pytest

from reporting import estimates

QUIET = {"wall_s": 10.0, "own_cpu_s": 19.0, "other_cpu_s": 0.1, "steal_s": 0.0}


def process(samples: list[float], first_step: float = 1.0, **changes: object) -> dict:
    """A record of one process with what the estimates read."""
    record = {
        "samples": samples,
        "setup": {"import_s": 0.5, "build_s": 0.25, "first_step_s": first_step},
        "memory": {"process_peak_bytes": 1000, "device_peak_bytes": None},
        "interference": QUIET,
        "machine": {"cores": 2},
    }
    return record | changes


def test_one_process() -> None:
    found = estimates.cell([process([1.0, 2.0, 3.0, 4.0, 10.0])], batch=8)
    assert found["wall_s"] == 4.0  # the document's metric is the average
    assert found["wall_median_s"] == 3.0
    assert (found["wall_low_s"], found["wall_high_s"], found["interval"]) == (2.0, 4.0, "quartiles")
    assert found["elapsed_s"] == 20.0
    assert found["sequences_per_s"] == 2.0
    assert found["batches"] == 5
    assert (found["import_s"], found["build_s"], found["first_step_s"]) == (0.5, 0.25, 1.0)
    assert found["peak_memory_bytes"] == 1000
    assert found["device_peak_bytes"] is None


def test_the_process_is_the_unit() -> None:
    """The median of the processes' averages, whatever happened inside one of them."""
    records = [process([2.0, 4.0], 7.0), process([1.0, 1.0], 5.0), process([5.0, 95.0], 6.0)]
    found = estimates.cell(records, batch=6)
    assert found["wall_s"] == 3.0
    assert found["interval"] == "bootstrap"
    assert (found["wall_low_s"], found["wall_high_s"]) == (1.0, 50.0)
    assert found["first_step_s"] == 6.0
    assert found["sequences_per_s"] == 2.0


def test_interval_narrows_with_processes_and_repeats_itself() -> None:
    few = [[value] for value in (1.0, 2.0, 3.0)]
    many = [[1.0 + index / 20] for index in range(41)]
    low, high, _ = estimates.interval(many)
    assert 1.0 < low < 2.0 < high < 3.0
    assert (low, high, "bootstrap") == estimates.interval(many)
    assert high - low < estimates.interval(few)[1] - estimates.interval(few)[0]


def test_equal_processes_have_an_interval_of_no_width() -> None:
    assert estimates.interval([[2.0, 2.0]] * 3) == (2.0, 2.0, "bootstrap")


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([1.0] * 20, []),
        ([1.0, 1.2] * 10, ["spread"]),
        ([1.0 + 0.004 * index for index in range(20)], ["drift"]),
        ([1.0 + 0.01 * index for index in range(5)], []),  # too few to show a drift
        ([1.1 - 0.004 * index for index in range(20)], ["drift"]),
        ([1.0] * 19 + [50.0], []),  # one outlier is no spread; it stays in the average
    ],
)
def test_flags_of_samples(samples: list[float], expected: list[str]) -> None:
    assert estimates.flags([process(samples)]) == expected


@pytest.mark.parametrize(
    ("other", "steal", "expected"),
    [(0.9, 0.0, []), (1.1, 0.0, ["interference"]), (0.6, 0.6, ["interference"]), (None, None, [])],
)
def test_flag_of_interference(
    other: float | None, steal: float | None, expected: list[str]
) -> None:
    """Five percent of 10 s on two cores is one second."""
    reading = QUIET | {"other_cpu_s": other, "steal_s": steal}
    assert estimates.flags([process([1.0] * 20, interference=reading)]) == expected


def test_flags_of_all_processes_once_each() -> None:
    records = [process([1.0, 1.2] * 10), process([1.0] * 20), process([1.0, 1.2] * 10)]
    assert estimates.cell(records, batch=1)["flags"] == "spread"


def test_drift_is_relative_to_the_median() -> None:
    assert estimates.drift([10.0 + index for index in range(11)]) == pytest.approx(10 / 15)


def cells(*rows: tuple[str, str, float | None]) -> pd.DataFrame:
    """Cells of one benchmark: (implementation, environment, wall time or None), intervals of +- 10 %."""
    return pd.DataFrame(
        {
            **{"document": "d", "benchmark": "b", "phase": "forward", "device": "cpu"},
            **{"implementation": implementation, "environment": environment},
            **{"status": "ok" if wall_s else "failed", "wall_s": wall_s, "wall_median_s": wall_s},
            **{"framework_version": f"{wall_s}" if wall_s else None},
            **{"wall_low_s": wall_s and wall_s * 0.9, "wall_high_s": wall_s and wall_s * 1.1},
        }
        for implementation, environment, wall_s in rows
    )


def test_then_and_now() -> None:
    table = cells(
        *(("pytorch/cell", "pytorch", 2.0), ("pytorch/cell", "pytorch-2019", 3.0)),
        *(("pytorch/fused", "pytorch", 2.0), ("pytorch/fused", "pytorch-2019", 1.8)),
        *(("pytorch/compiled", "pytorch", 1.0), ("pytorch/compiled", "pytorch-2019", None)),
        ("tvm/untuned", "tvm", 1.0),
    )
    cell, fused, compiled = estimates.then_and_now(table)
    assert (cell["environment_then"], cell["environment_now"]) == ("pytorch-2019", "pytorch")
    assert (cell["framework_version_then"], cell["framework_version_now"]) == ("3.0", "2.0")
    assert (cell["ratio"], cell["inconclusive"]) == (1.5, False)
    assert (fused["ratio"], fused["inconclusive"]) == (0.9, True)
    assert (compiled["status_then"], compiled["wall_s_then"], compiled["ratio"]) == (
        "failed",
        None,
        None,
    )


def test_today_s_libraries_are_what_others_are_compared_with() -> None:
    table = cells(
        ("pytorch/fused", "pytorch", 2.0),
        ("pytorch/fused", "pytorch-2019", 1.0),
        ("tvm/untuned", "tvm", 4.0),
    )
    assert estimates.relate(table)["ratio_to_torch"].tolist() == [1.0, 0.5, 2.0]
