"""What a row says of its processes, on samples whose statistics are plain to see."""

import numpy as np
import pytest

from reporting import tabulate
from stats import clean, rows
from tests.unit.hand_made import QUIET, process


def test_one_batch_has_no_deviation() -> None:
    assert rows.cell([process([2.0])], batch=8)["wall_std_s"] is None
    assert rows.cell([process([2.0]), process([4.0])], batch=8)["wall_std_s"] == 1.0


def test_one_process() -> None:
    found = rows.cell([process([1.0, 2.0, 3.0, 4.0, 10.0])], batch=8)
    assert found["wall_s"] == 4.0  # the document's metric is the average
    assert found["wall_median_s"] == 3.0
    assert (found["wall_low_s"], found["wall_high_s"], found["interval"]) == (2.0, 4.0, "quartiles")
    assert found["elapsed_s"] == 20.0
    assert found["sequences_per_s"] == 2.0
    assert found["batches"] == 5
    assert (found["import_s"], found["build_s"], found["first_step_s"]) == (0.5, 0.25, 1.0)
    assert found["peak_memory_bytes"] == 1000
    assert found["device_peak_bytes"] is None


def test_memory_is_of_processes_that_were_not_forked_and_starts_of_those_that_compiled() -> None:
    more = {"process_peak_bytes": 3000, "device_peak_bytes": None}
    records = [
        process([1.0, 1.0], 8.0, memory=more, forked=True),
        process([1.0, 1.0], 2.0, found_compiled=True),
        process([1.0, 1.0], 2.0, memory=more, forked=True, found_compiled=True),
    ]
    found = rows.cell(records, batch=8)
    assert (found["peak_memory_bytes"], found["first_step_s"]) == (1000, 8.0)
    assert np.isnan(found["start_low_s"])  # one look
    only = rows.cell(records[2:], batch=8)  # for want of others
    assert (only["peak_memory_bytes"], only["first_step_s"]) == (3000, 2.0)


def test_the_process_is_the_unit() -> None:
    """The median of the processes' averages, whatever happened inside one of them."""
    records = [process([2.0, 4.0], 7.0), process([1.0, 1.0], 5.0), process([5.0, 95.0], 6.0)]
    found = rows.cell(records, batch=6)
    assert found["wall_s"] == 3.0
    assert found["interval"] == "confidence"
    assert found["wall_low_s"] < 1.0 and found["wall_high_s"] > 50.0  # three processes, this unlike
    assert found["first_step_s"] == 6.0
    assert found["sequences_per_s"] == 2.0


def test_interval_is_that_of_student() -> None:
    """By hand: half-width 4.303 (t, two degrees of freedom) * 0.1 / sqrt(3) of the logarithm."""
    low, high, kind = rows.interval(
        [{"samples": [float(np.exp(power))]} for power in (-0.1, 0.0, 0.1)]
    )
    assert kind == "confidence"
    assert np.log([low, high]) == pytest.approx([-0.2484, 0.2484], abs=1e-4)


def test_equal_processes_have_an_interval_of_no_width() -> None:
    assert rows.interval([{"samples": [2.0, 2.0]}] * 3) == pytest.approx((2.0, 2.0, "confidence"))


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([1.0] * 20, []),
        ([1.0, 1.2] * 10, ["spread"]),
        ([1.0 + 0.004 * index for index in range(20)], ["drift"]),
        ([1.0 + 0.01 * index for index in range(5)], []),  # too few to show a drift
        ([1.1 - 0.004 * index for index in range(20)], ["drift"]),
        ([1.0] * 19 + [50.0], []),  # one outlier is no spread; it stays in the average
        ([1.2, 1.15, 1.1, 1.05] + [1.0, 1.001] * 8, ["warm-up"]),
        ([0.9] * 4 + [1.0, 1.001] * 8, ["warm-up"]),  # a CPU that is not hot yet
        ([1.2] + [1.0, 1.001] * 8, []),  # a single one is an outlier
        ([1.2, 1.1] + [1.0] * 8, []),  # too few to tell the first from the others
    ],
)
def test_flags_of_samples(samples: list[float], expected: list[str]) -> None:
    assert rows.flags([process(samples)]) == expected


@pytest.mark.parametrize(
    ("other", "steal", "expected"),
    [(0.9, 0.0, []), (1.1, 0.0, ["interference"]), (0.6, 0.6, ["interference"]), (None, None, [])],
)
def test_flag_of_interference(
    other: float | None, steal: float | None, expected: list[str]
) -> None:
    """Five percent of 10 s on two cores is one second."""
    reading = QUIET | {"other_cpu_s": other, "steal_s": steal}
    assert rows.flags([process([1.0] * 20, interference=reading)]) == expected


def test_flag_of_a_process_that_was_stopped() -> None:
    for times, expected in ((0, []), (1, ["suspended"])):
        reading = QUIET | {"suspensions": times}
        stopped = process([1.0] * 20, interference=reading)
        assert rows.flags([stopped]) == expected
        assert clean.disturbed([stopped, process([1.0])], best={}) == [bool(times), False]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [([1.0, 1.0, 2.0], ["uneven"]), ([1.0, 1.0, 1.4], []), ([1.0, 2.0], [])],
)
def test_flag_of_processes_that_differ(seconds: list[float], expected: list[str]) -> None:
    """Of two, nobody knows which one is odd."""
    assert rows.flags([process([each] * 20) for each in seconds]) == expected


@pytest.mark.parametrize(("load", "expected"), [(2.9, []), (3.1, ["load"])])
def test_flag_of_load(load: float, expected: list[str]) -> None:
    """Before a process of a run that keeps two cores busy, the load average is 2."""
    record = process([1.0] * 20, load={"before": [load, 0.0, 0.0]})
    assert rows.flags([record]) == expected


def at(mhz: float | None, throttled: int | None = None) -> dict:
    return {"mhz": mhz, "throttled": throttled}


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([(at(3000), at(2900)), (at(2950), at(3000))], []),
        ([(at(3000), at(2800))], ["frequency"]),  # slower after than before
        ([(at(3000), at(3000)), (at(2000), at(2000))], ["frequency"]),  # a slower process
        ([(at(3000, 5), at(3000, 5))], []),
        ([(at(3000, 5), at(3000, 6))], ["frequency"]),
        ([(at(None), at(None))], []),
        ([], []),  # records of before it was noted
    ],
)
def test_flag_of_frequency(readings: list, expected: list[str]) -> None:
    records = [process([1.0] * 20)] + [
        process([1.0] * 20, frequency={"before": before, "after": after})
        for before, after in readings
    ]
    assert rows.flags(records) == expected


def gpu(sm_mhz: float | None, memory_mhz: float | None, *held_back_by: str) -> dict:
    return {"sm_mhz": sm_mhz, "memory_mhz": memory_mhz, "held_back_by": list(held_back_by)}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([(gpu(1980, 2619), gpu(1905, 2619, "power cap"))], []),
        ([(gpu(1980, 2619), gpu(1800, 2619, "power cap"))], ["frequency"]),
        ([(gpu(1980, 2619), gpu(1980, 2619)), (gpu(1980, 1593), gpu(1980, 1593))], ["frequency"]),
        ([(gpu(1980, 2619), gpu(1980, 2619, "thermal slowdown"))], ["frequency"]),
        ([(gpu(None, None), gpu(None, None)), (None, None)], []),
    ],
)
def test_flag_of_a_gpus_clocks(states: list, expected: list[str]) -> None:
    records = [
        process([1.0] * 20, gpu={"before": before, "after": after, "batch": {"launched_s": 0.1}})
        for before, after in states
    ]
    assert rows.flags(records) == expected


def test_flags_of_all_processes_once_each() -> None:
    records = [process([1.0, 1.2] * 10), process([1.0] * 20), process([1.0, 1.2] * 10)]
    assert rows.cell(records, batch=1)["flags"] == "spread"


def test_drift_is_relative_to_the_median() -> None:
    assert rows.drift([10.0 + index for index in range(11)]) == pytest.approx(10 / 15)


@pytest.mark.parametrize(
    ("device", "gpu", "expected"),
    [
        ("cpu", None, 0.75),
        ("gpu", {"after": {"utilisation_percent": 83.0}}, 0.83),
        ("gpu", {"after": {"utilisation_percent": None}}, None),
        ("gpu", {"after": None}, None),
        ("gpu", None, None),
    ],
)
def test_utilisation(device: str, gpu: dict | None, expected: float | None) -> None:
    record = {
        "identity": {"device": device},
        "interference": {"wall_s": 10.0, "own_cpu_s": 30.0},
        "threads": 4,
    } | ({"gpu": gpu} if gpu else {})
    assert rows.utilisation(record) == expected


def test_a_number_without_a_column_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabulate, "_rows", lambda *_: iter([{"status": "ok", "wall_p90_s": 1.0}]))
    with pytest.raises(ValueError, match=r"cells\.schema\.yaml.* wall_p90_s$"):
        tabulate.cells("stacked-lm", [])
