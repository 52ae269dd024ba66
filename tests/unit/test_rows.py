"""What a row says of its processes, on samples whose statistics are plain to see."""

import numpy as np
import pytest

from reporting import tabulate
from stats import clean, rows
from tests.unit.hand_made import QUIET, process


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
    assert rows.cell([process([2.0])], batch=8)["wall_std_s"] is None  # of one batch
    assert rows.cell([process([2.0]), process([4.0])], batch=8)["wall_std_s"] == 1.0


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
    records = [{"samples": [float(np.exp(power))]} for power in (-0.1, 0.0, 0.1)]
    low, high, kind = rows.interval(records)
    assert kind == "confidence"
    assert np.log([low, high]) == pytest.approx([-0.2484, 0.2484], abs=1e-4)
    assert rows.interval([{"samples": [2.0, 2.0]}] * 3) == pytest.approx((2.0, 2.0, "confidence"))


STEADY = [1.0] * 20


def of(*samples: list[float]) -> list[dict]:
    return [process(each) for each in samples]


def meanwhile(**taken: float | None) -> list[dict]:
    return [process(STEADY, interference=QUIET | taken)]


def at(mhz: float | None, throttled: int | None = None) -> dict:
    return {"mhz": mhz, "throttled": throttled}


def clocks(*readings: tuple[dict, dict]) -> list[dict]:
    noted = [dict(zip(("before", "after"), each, strict=True)) for each in readings]
    return [process(STEADY), *(process(STEADY, frequency=each) for each in noted)]


def gpu(sm_mhz: float | None, memory_mhz: float | None, *held_back_by: str) -> dict:
    return {"sm_mhz": sm_mhz, "memory_mhz": memory_mhz, "held_back_by": list(held_back_by)}


def gpus(*states: tuple[dict | None, dict | None]) -> list[dict]:
    noted = [dict(zip(("before", "after"), each, strict=True)) for each in states]
    return [process(STEADY, gpu=each | {"batch": {"launched_s": 0.1}}) for each in noted]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (of(STEADY), ""),
        (of([1.0, 1.2] * 10), "spread"),
        (of([1.0 + 0.01 * index for index in range(5)]), ""),  # too few to show a drift
        (of([1.1 - 0.004 * index for index in range(20)]), "drift"),
        (of([1.0] * 19 + [50.0]), ""),  # one outlier is no spread; it stays in the average
        (of([1.2, 1.15, 1.1, 1.05] + [1.0, 1.001] * 8), "warm-up"),
        (of([0.9] * 4 + [1.0, 1.001] * 8), "warm-up"),  # a CPU that is not hot yet
        (of([1.2] + [1.0, 1.001] * 8), ""),  # a single one is an outlier
        (of([1.2, 1.1] + [1.0] * 8), ""),  # too few to tell the first from the others
        (of([1.0] * 20, [1.0] * 20, [2.0] * 20), "uneven"),
        (of([1.0] * 20, [1.0] * 20, [1.4] * 20), ""),
        (of([1.0] * 20, [2.0] * 20), ""),  # of two, nobody knows which one is odd
        # Five percent of 10 s on two cores is one second.
        (meanwhile(other_cpu_s=0.9), ""),
        (meanwhile(other_cpu_s=1.1), "interference"),
        (meanwhile(other_cpu_s=0.6, steal_s=0.6), "interference"),
        (meanwhile(other_cpu_s=None, steal_s=None), ""),
        (meanwhile(suspensions=1), "suspended"),
        # Before a process of a run that keeps two cores busy, the load average is 2.
        ([process(STEADY, load={"before": [2.9, 0.0, 0.0]})], ""),
        ([process(STEADY, load={"before": [3.1, 0.0, 0.0]})], "load"),
        (clocks((at(3000), at(2900)), (at(2950), at(3000))), ""),
        (clocks((at(3000), at(2800))), "frequency"),  # slower after than before
        (clocks((at(3000), at(3000)), (at(2000), at(2000))), "frequency"),  # a slower process
        (clocks((at(3000, 5), at(3000, 5))), ""),
        (clocks((at(3000, 5), at(3000, 6))), "frequency"),
        (clocks((at(None), at(None))), ""),
        (gpus((gpu(1980, 2619), gpu(1905, 2619, "power cap"))), ""),
        (gpus((gpu(1980, 2619), gpu(1800, 2619, "power cap"))), "frequency"),
        (gpus((gpu(1980, 2619), gpu(1980, 2619)), 2 * (gpu(1980, 1593),)), "frequency"),
        (gpus((gpu(1980, 2619), gpu(1980, 2619, "thermal slowdown"))), "frequency"),
        (gpus((gpu(None, None), gpu(None, None)), (None, None)), ""),
    ],
)
def test_flags(records: list[dict], expected: str) -> None:
    assert rows.flags(records) == expected.split()


def test_a_process_that_was_stopped_is_disturbed() -> None:
    for times in (0, 1):
        records = [*meanwhile(suspensions=times), process([1.0])]
        assert clean.disturbed(records, best={}) == [bool(times), False]


@pytest.mark.parametrize(
    ("device", "gpu", "expected"),
    [
        ("cpu", None, 0.75),
        ("gpu", {"after": {"utilisation_percent": 83.0}}, 0.83),
        ("gpu", {"after": None}, None),
        ("gpu", None, None),
    ],
)
def test_utilisation(device: str, gpu: dict | None, expected: float | None) -> None:
    record = process([1.0], interference={"wall_s": 10.0, "own_cpu_s": 30.0}, threads=4)
    record |= {"identity": {"device": device}} | ({"gpu": gpu} if gpu else {})
    assert rows.utilisation(record) == expected


def test_a_number_without_a_column_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabulate, "_rows", lambda *_: iter([{"status": "ok", "wall_p90_s": 1.0}]))
    with pytest.raises(ValueError, match=r"cells\.schema\.yaml.* wall_p90_s$"):
        tabulate.cells("stacked-lm", [])
