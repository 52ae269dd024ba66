"""How many batches a process times: a count, within bounds of time. The clock here is made by hand."""

import itertools
import os
import signal
import sys
import time
import types
from collections.abc import Callable

import pytest

from measurement import contract, quiet, ranges, timing
from measurement.devices import cuda


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


PROTOCOL = {"warmup_batches": 3, "look_s": 0.5, "most_s": 6}


class Reading:
    """Stands for the yardstick."""

    number = 0

    def __init__(self, threads: int) -> None:
        pass

    def read(self) -> dict:
        self.number += 1
        return {"number": self.number}

    def handovers(self) -> None:
        return None


@pytest.fixture(autouse=True)
def reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "Yardstick", Reading)
    monkeypatch.setattr(timing, "settle", lambda: None)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock(0.125)
    monkeypatch.setattr(timing, "time", found)
    return found


def made(clock: Clock, runner: Runner | None = None, **protocol: object) -> timing.Clock:
    given = runner or Runner(clock), Endless(), PROTOCOL | protocol, lambda message: None
    return timing.Clock(*given)


@pytest.mark.parametrize(
    ("seconds", "protocol", "warmup", "before", "batches"),
    [
        (0.125, {}, 3, 1, 4),
        (1 / 64, {}, 3, 7, 32),  # a tenth of a second to warm up
        (0.75, {}, 3, 1, 1),  # one at least
        (1.5, {"warmup_batches": 9}, 3, 1, 1),  # no further one begins after two seconds
        (1.5, {"warmup_batches": 9, "most_s": None}, 9, 1, 1),
        (3.0, {}, 2, 1, 1),
    ],
)
def test_number_of_batches(seconds, protocol, warmup, before, batches, clock: Clock) -> None:
    clock.seconds = seconds
    own = made(clock, **protocol)
    looks = [own.look() for _ in range(2)]
    assert own.warmup == [seconds] * warmup
    for look in looks:
        assert (look["warmup"], look["batches"]) == ([seconds] * before, [seconds] * batches)
        assert len(look["faults"]) == batches
        assert look["interference"]["wall_s"] == seconds * batches
    found = quiet.of_looks(looks) | own.finish()
    assert found["samples"] == [seconds] * batches * 2 and len(found["faults"]) == 2 * batches
    assert found["interference"]["wall_s"] == seconds * batches * 2
    assert found["yardstick"] == {"before": {"number": 1}, "after": {"number": 2}}
    assert set(found["frequency"]) == {"before", "after"} and found["changes"] == ""


def test_a_first_step_that_compiles_for_long_leaves_time_to_warm_up(clock: Clock) -> None:
    class Compiling(Runner):
        def step(self, inputs: None, targets: None) -> None:
            self.clock.now += self.clock.seconds if self.clock.now else 5.0

    assert made(clock, Compiling(clock)).warmup == [5.0, 0.125, 0.125]


@pytest.mark.parametrize(
    ("taking", "warmup"),  # batches that take memory, from 1
    [({1}, 3), ({1, 2, 3}, 4), ({1, 2, 3, 4}, 5), ({1, 4}, 3), (set(range(1, 99)), 9)],
)
def test_one_warms_up_until_no_batch_takes_memory_but_not_for_ever(
    taking: set[int], warmup: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faults(helpers: object) -> int:
        return 62_500 * sum(each <= round(clock.now / 0.125) for each in taking)

    monkeypatch.setattr(timing.memory, "faults", faults)
    assert len(made(clock).warmup) == warmup


def test_a_gpu_is_asked_at_work(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked what it does while it does it: an idle one has low clocks. Warm before each look; where the seconds of a batch go is
    asked while it is still warm."""
    events: list[str] = []

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

    class OnHost(Reading):
        def __init__(self, threads: int) -> None:
            # Of the host's 16 the one that launches, and the one of PyTorch's backward pass.
            assert threads == 2

        def read(self) -> dict:
            events.append("idle")
            return super().read()

    class OnManyCores(Endless):
        threads = 16

    monkeypatch.setattr(cuda, "state", asked)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr(timing, "Yardstick", OnHost)
    own = timing.Clock(OnGpu(clock), OnManyCores(), PROTOCOL, lambda message: None, device=cuda)
    look = own.look()
    assert (len(look["warmup"]), len(look["batches"])) == (4, 4)  # half a second each
    found = own.finish()
    state = {"sm_mhz": 1980.0}
    assert found["gpu"] == {"before": state, "after": state, "batch": {"launched_s": 0.1}}
    asked_of = [event for event in events if event != "batch"]
    assert asked_of == ["idle", "asked", "idle", "asked", "device times"]


def test_ranges_of_a_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them between two readings of the clock; tests/unit/test_supervisor.py has their order."""
    noted: list[str] = []

    class Noting(Clock):
        def perf_counter(self) -> float:
            noted.append("clock")
            return self.now

    clock = Noting(0.125)
    monkeypatch.setattr(timing, "time", clock)
    given = Runner(clock), Endless(), PROTOCOL, lambda message: None
    marked = ranges.marked(noted.append, lambda: noted.append("end"))
    timing.Clock(*given, ranges=marked).look()
    batch = noted.index("batch")
    assert noted[batch : batch + 4] == ["batch", "clock", "clock", "end"]


def test_ranges_by_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its build without CUDA has the functions, which raise."""
    own = types.SimpleNamespace(range_push=print, range_pop=print)
    monkeypatch.setitem(sys.modules, "nvtx", None)
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    monkeypatch.setitem(sys.modules, "torch.cuda", types.SimpleNamespace(nvtx=own))
    assert cuda.profiler_ranges() == (print, print)

    def raises(name: str) -> None:
        raise RuntimeError("NVTX functions not installed")

    own.range_push = raises
    with pytest.raises(contract.Unsupported, match="PyTorch with CUDA"):
        cuda.profiler_ranges()


class Recorder:
    """A runner, and a clock, that note what is asked of them."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable:
        def noted(*given: str) -> object:
            self.calls.append(" ".join((name, *given)))
            return {"on_device": ("x there", "y"), "step": "handle"}.get(name, given)

        return noted


@pytest.mark.parametrize(
    ("departure", "expected"),
    [
        (None, "clock, step x y, synchronise, clock"),
        ("unsynchronised", "clock, step x y, clock"),
        ("fetched", "clock, step x y, synchronise, results handle, clock"),
        ("fed-before", "on_device x y, clock, step x there y, synchronise, clock"),
    ],
)
def test_what_stands_between_two_readings_of_the_clock(departure, expected, monkeypatch) -> None:
    runner = Recorder()
    clock = types.SimpleNamespace(perf_counter=lambda: runner.clock() or 0.0)
    monkeypatch.setattr(timing, "time", clock)
    timing.sample(runner, ("x", "y"), departure)
    assert runner.calls == ["laid_out x y", *expected.split(", ")]


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
