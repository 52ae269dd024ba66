"""How many batches a process times: a count, within bounds of time. The clock here is made by hand."""

import itertools
import os
import signal

import pytest

from implementations import contract
from measurement import timing


class Clock:
    """Stands for the module `time`: every batch takes `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds = 0.0, seconds

    def perf_counter(self) -> float:
        return self.now


class Runner(contract.Runner):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def step(self, inputs: None, targets: None) -> None:
        self.clock.now += self.clock.seconds

    def synchronise(self) -> None:
        pass

    def describe(self) -> dict:
        return {"settings": {"threads": 1}}


class Endless:
    departure, carried, threads = None, False, 1

    def batches(self):
        return itertools.repeat((None, None))


@pytest.mark.parametrize(
    ("seconds", "least_s", "most_s", "least", "expected"),
    [
        (0.125, 0, None, 1, (2, 5)),  # as many as the protocol says
        (0.125, 1.0, None, 1, (9, 8)),  # a fast kernel: more, for a second each, and a last one
        (0.125, 0, 0.5, 1, (2, 5)),  # the limit is passed by the fifth
        (0.25, 0, 0.5, 1, (2, 3)),  # the third batch passes the limit
        (2.0, 0, 0.5, 1, (1, 1)),  # a slow one: one batch at least
        (2.0, 0, 0.5, 3, (1, 3)),  # or three of those that count
        (0.25, 1.0, 0.5, 1, (3, 3)),  # the limit goes before the least
    ],
)
def test_number_of_batches(
    seconds: float,
    least_s: float,
    most_s: float | None,
    least: int,
    expected: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(seconds)
    monkeypatch.setattr(timing, "time", clock)
    bounds = {"least_s": least_s, "most_s": most_s, "least_batches": least}
    protocol = {"warmup_batches": 2, "timed_batches": 5} | bounds
    found = timing.time_batches(Runner(clock), Endless(), protocol, lambda message: None)
    assert (len(found["warmup"]), len(found["samples"])) == expected
    assert set(found["warmup"] + found["samples"]) == {seconds}
    assert set(found["frequency"]) == set(found["yardstick"]) == {"before", "after"}
    assert len(found["faults"]) == len(found["samples"])


@pytest.mark.parametrize(
    ("taking", "most_s", "warmup"),
    [(0, None, 2), (3, None, 4), (99, None, 6), (99, 0.4, 4)],  # batches that take memory
)
def test_warm_up_goes_on_while_memory_is_taken(
    taking: int, most_s: float | None, warmup: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(0.125)
    monkeypatch.setattr(timing, "time", clock)
    monkeypatch.setattr(
        timing.memory, "faults", lambda helpers: 62_500 * min(taking, round(clock.now / 0.125))
    )
    bounds = {"least_s": 0, "most_s": most_s, "least_batches": 1}
    protocol = {"warmup_batches": 2, "timed_batches": 1} | bounds
    found = timing.time_batches(Runner(clock), Endless(), protocol, lambda message: None)
    assert len(found["warmup"]) == warmup


def test_a_gpu_is_warm_before_its_clock_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """For half a second; and where the seconds of a batch go there is asked once, after all that are timed."""
    clock, asked = Clock(0.125), []

    class OnGpu(Runner):
        def device_times(self, inputs: None, targets: None) -> dict:
            asked.append(clock.now)
            return {"launched_s": 0.1}

    monkeypatch.setattr(timing, "time", clock)
    monkeypatch.setattr(timing.machine, "gpu_state", lambda gpu: {"sm_mhz": 1980.0})
    protocol = {"warmup_batches": 2, "timed_batches": 3, "least_s": 0, "most_s": None}
    found = timing.time_batches(
        OnGpu(clock), Endless(), protocol | {"least_batches": 1}, lambda message: None, gpu="0"
    )
    assert (len(found["warmup"]), len(found["samples"])) == (5, 3)
    assert found["gpu"]["batch"] == {"launched_s": 0.1} and asked == [clock.now]
    assert found["gpu"]["before"] == found["gpu"]["after"] == {"sm_mhz": 1980.0}


class Recorder:
    """A runner that notes what is asked of it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def laid_out(self, inputs: str, targets: str) -> tuple[str, str]:
        self.calls.append("lay out")
        return inputs, targets

    def on_device(self, inputs: str, targets: str) -> tuple[str, str]:
        self.calls.append("feed")
        return f"fed {inputs}", targets

    def step(self, inputs: str, targets: str) -> str:
        self.calls.append(f"step {inputs}")
        return "handle"

    def synchronise(self) -> None:
        self.calls.append("synchronise")

    def results(self, handle: str) -> None:
        self.calls.append(f"fetch {handle}")


@pytest.mark.parametrize(
    ("departure", "expected"),
    [
        (None, ["lay out", "clock", "step x", "synchronise", "clock"]),
        ("unsynchronised", ["lay out", "clock", "step x", "clock"]),
        ("fetched", ["lay out", "clock", "step x", "synchronise", "fetch handle", "clock"]),
        ("fed-before", ["lay out", "feed", "clock", "step fed x", "synchronise", "clock"]),
    ],
)
def test_what_stands_between_two_readings_of_the_clock(
    departure: str | None, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = Recorder()

    class Noted:
        @staticmethod
        def perf_counter() -> float:
            runner.calls.append("clock")
            return 0.0

    monkeypatch.setattr(timing, "time", Noted)
    timing.sample(runner, ("x", "y"), departure)
    assert runner.calls == expected


def test_what_a_framework_changes_meanwhile_is_told() -> None:
    class Changing(Runner):
        threads = 2

        def describe(self) -> dict:
            return {"settings": {"threads": self.threads, "workers": id(self.threads)}}

    runner = Changing(Clock(0.1))
    before = timing.state(runner)
    assert timing.changes(before, timing.state(runner)) == ""
    runner.threads = 7
    assert timing.changes(before, timing.state(runner)) == "threads (2 -> 7)"


def test_a_process_that_was_stopped_says_so() -> None:
    meter = timing.Meter([])
    assert meter.read()["suspensions"] == 0
    os.kill(os.getpid(), signal.SIGCONT)
    assert meter.read()["suspensions"] == 1
