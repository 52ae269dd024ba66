"""How many batches a process times: a count, within bounds of time. The clock here is made by hand."""

import itertools
import os
import signal
import sys
import time
import types

import pytest

from implementations import contract
from measurement import ranges, timing


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
        (2.0, 0, 0.5, 1, (2, 1)),  # a slow one: one batch at least, beside the first step
        (1 / 64, 0, None, 1, (1 + 7, 5)),  # after the yardstick, batches for a tenth of a second
        (2.0, 0, 0.5, 3, (2, 3)),  # or three of those that count
        (0.25, 1.0, 0.5, 1, (4, 3)),  # the limit goes before the least
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
    bounds = {"least_s": least_s, "most_s": most_s, "least_batches": least, "patience_s": 0}
    protocol = {"warmup_batches": 2, "timed_batches": 5} | bounds
    found = timing.time_batches(Runner(clock), Endless(), protocol, lambda message: None)
    assert (len(found["warmup"]), len(found["samples"])) == expected
    assert set(found["warmup"] + found["samples"]) == {seconds}
    assert set(found["frequency"]) == {"before", "after"}
    assert sum(each["batches"] for each in found["stretches"]) == len(found["samples"])
    assert len(found["faults"]) == len(found["samples"])


def test_a_first_step_that_compiles_for_long_is_no_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the yardstick's reading there is one all the same."""
    clock = Clock(0.125)

    class Compiling(Runner):
        def step(self, inputs: None, targets: None) -> None:
            self.clock.now += self.clock.seconds if self.clock.now else 5.0

    monkeypatch.setattr(timing, "time", clock)
    bounds = {"least_s": 0, "most_s": 0.5, "least_batches": 1, "patience_s": 0}
    protocol = {"warmup_batches": 2, "timed_batches": 5} | bounds
    found = timing.time_batches(Compiling(clock), Endless(), protocol, lambda message: None)
    assert (found["warmup"], len(found["samples"])) == ([5.0, 0.125], 5)


@pytest.mark.parametrize(
    ("taking", "most_s", "warmup"),  # batches that take memory, from 1
    [
        ({1}, None, 2),
        ({1, 2}, None, 2),  # as long as no timed one does
        ({1, 2, 3}, None, 3),
        ({1, 4}, None, 4),  # after a quiet one
        ({1, 4, 6}, None, 6),
        ({8}, None, 2),  # when the timed ones are over
        (set(range(1, 99)), None, 8),  # not for ever
        (set(range(1, 99)), 0.4, 5),
    ],
)
def test_batches_up_to_one_that_takes_memory_are_warm_up(
    taking: set[int], most_s: float | None, warmup: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(0.125)
    monkeypatch.setattr(timing, "time", clock)
    monkeypatch.setattr(
        timing.memory,
        "faults",
        lambda helpers: 62_500 * sum(each <= round(clock.now / 0.125) for each in taking),
    )
    bounds = {"least_s": 0, "most_s": most_s, "least_batches": 1, "patience_s": 0}
    protocol = {"warmup_batches": 2, "timed_batches": 3} | bounds
    found = timing.time_batches(Runner(clock), Endless(), protocol, lambda message: None)
    assert (len(found["warmup"]), len(found["samples"])) == (warmup, 3)
    ends = len(taking) < 9
    assert found["faults"] == 3 * [0 if ends else 62_500]


PROTOCOL = {
    "warmup_batches": 2,
    "timed_batches": 3,
    "least_s": 0,
    "most_s": None,
    "least_batches": 1,
    "patience_s": 0,
}


class Scripted:
    """Stands for the yardstick: which stretches are quiet, and how long it waits after one that is not."""

    quiets: list[bool]
    waits: float

    def __init__(self, threads: int) -> None:
        self.ahead, self.number = iter(self.quiets), 0

    def read(self) -> dict:
        self.number += 1
        return {"number": self.number}

    def wait(self, most_s: float) -> tuple[dict, float]:
        waited = min(self.waits, most_s) if self.number else 0.0
        return self.read(), waited

    def quiet(self, stretch: dict) -> bool:
        return next(self.ahead)


@pytest.mark.parametrize(
    ("quiets", "count", "patience_s", "waits", "expected"),
    [
        ([True], 4, 9, 0, [4]),
        ([False, True], 4, 9, 0, [4, 4]),
        ([False, False], 4, 1.5, 0, [4, 4]),  # a second each
        ([False, False], 4, 3, 2, [4, 4]),  # waiting takes the patience too
        ([False], 4, 0, 0, [4]),
        ([True, True], 12, 9, 0, [8, 4]),  # a stretch is no longer than two seconds
        ([True, False, True], 12, 9, 0, [8, 4, 4]),
        ([True, False], 12, 0, 0, [8, 4]),  # as many as there have to be, in any case
    ],
)
def test_batches_until_enough_are_quiet(
    quiets: list[bool],
    count: int,
    patience_s: float,
    waits: float,
    expected: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All are kept, and a batch to warm up precedes each stretch. Stretches that follow each other at once share a reading."""
    clock = Clock(0.25)
    monkeypatch.setattr(timing, "time", clock)
    monkeypatch.setattr(timing, "Yardstick", Scripted)
    monkeypatch.setattr(Scripted, "quiets", quiets, raising=False)
    monkeypatch.setattr(Scripted, "waits", waits, raising=False)
    protocol = PROTOCOL | {"timed_batches": count, "patience_s": patience_s}
    found = timing.time_batches(Runner(clock), Endless(), protocol, lambda message: None)
    stretches = found["stretches"]
    assert [each["batches"] for each in stretches] == expected
    assert len(found["samples"]) == sum(expected)
    assert len(found["warmup"]) == 1 + len(expected)
    assert found["interference"]["wall_s"] == 0.25 * sum(expected)
    for quiet, one, following in zip(quiets, stretches, stretches[1:], strict=False):
        assert (one["after"] == following["before"]) == quiet


def test_a_gpu_is_asked_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warm right before the clock starts, and asked what it does while it does it: an idle one has low clocks. Where the
    seconds of a batch go is asked while it is still warm."""
    clock, events = Clock(0.125), []

    class OnGpu(Runner):
        def step(self, inputs: None, targets: None) -> None:
            super().step(inputs, targets)
            events.append("batch")

        def device_times(self, inputs: None, targets: None) -> dict:
            events.append("device times")
            return {"launched_s": 0.1}

    def asked(gpu: str) -> dict:
        events.append("asked")
        while events[-1] == "asked":
            time.sleep(0.001)  # as long as nvidia-smi takes, until another batch has run
        return {"sm_mhz": 1980.0}

    class Reading(Scripted):
        quiets, waits = [True], 0

        def __init__(self, threads: int) -> None:
            super().__init__(threads)
            # Of the host's 16 the one that launches, and the one of PyTorch's backward pass.
            assert threads == 2

        def read(self) -> dict:
            events.append("idle")
            return super().read()

    class OnManyCores(Endless):
        threads = 16

    monkeypatch.setattr(timing, "time", clock)
    monkeypatch.setattr(timing.machine, "gpu_state", asked)
    monkeypatch.setattr(timing, "Yardstick", Reading)
    given = OnGpu(clock), OnManyCores(), PROTOCOL, lambda message: None
    found = timing.time_batches(*given, gpu="0")
    assert found["gpu"]["batch"] == {"launched_s": 0.1} and len(found["samples"]) == 3
    assert found["gpu"]["before"] == found["gpu"]["after"] == {"sm_mhz": 1980.0}
    assert [event for event in events if event != "batch"] == [
        *("idle", "asked", "idle", "asked", "device times")
    ]
    first, second = (place for place, event in enumerate(events) if event == "asked")
    idle = events.index("idle")
    assert set(events[idle + 1 : first]) == {"batch"} and first - idle > 4  # half a second
    assert len(found["warmup"]) == events[:second].count("batch") - len(found["samples"]) - 4


def test_ranges_of_a_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pushed and popped in order, none of them between two readings of the clock."""
    noted: list[str] = []
    library = types.SimpleNamespace(push_range=noted.append, pop_range=lambda: noted.append("end"))
    monkeypatch.setitem(sys.modules, "nvtx", library)

    class Noting(Clock):
        def perf_counter(self) -> float:
            noted.append("clock")
            return self.now

    clock = Noting(0.125)
    monkeypatch.setattr(timing, "time", clock)
    timing.time_batches(
        Runner(clock), Endless(), PROTOCOL, lambda message: None, ranges=ranges.marked()
    )
    stretches = [each for each in noted if each != "clock"]
    assert stretches[:2] == ["warm-up", "end"]
    assert stretches[2:] == ["timed", *["batch", "end"] * 3, "end"]
    batch = noted.index("batch")
    assert noted[batch : batch + 4] == ["batch", "clock", "clock", "end"]


def test_ranges_that_nothing_can_make_are_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nvtx", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(contract.Unsupported, match=r"protocol\.nvtx"):
        ranges.marked()


def test_ranges_by_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its build without CUDA has the functions, which raise."""
    noted: list[str] = []
    own = types.SimpleNamespace(range_push=noted.append, range_pop=lambda: noted.append("end"))
    monkeypatch.setitem(sys.modules, "nvtx", None)
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    monkeypatch.setitem(sys.modules, "torch.cuda", types.SimpleNamespace(nvtx=own))
    with ranges.marked()("build"):
        noted.append("building")
    assert noted[2:] == ["build", "building", "end"]

    def raises(name: str) -> None:
        raise RuntimeError("NVTX functions not installed")

    own.range_push = raises
    with pytest.raises(contract.Unsupported, match="PyTorch with CUDA"):
        ranges.marked()


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
