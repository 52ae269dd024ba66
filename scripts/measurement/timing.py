"""The clock: samples of one built implementation. It computes nothing from them."""

import datetime
import itertools
import os
import signal
import threading
import time

import numpy as np

from measurement import departures, machine, memory, processes, quiet
from measurement.devices import cpu
from measurement.ranges import unmarked
from measurement.rounds import WARM_UP_S
from measurement.yardstick import Yardstick, settle

# A batch that faults in more pages still takes memory from the system: 256 MB are 62,500, and a twelfth of the time of
# PyTorch's forward pass. Its rows do so in some of their first six batches or so, after quiet ones too, until the blocks
# of the heap fit what the batches ask for.
FEW_FAULTS = 1000
FURTHER_WARMUP = 6  # batches, at most; some old allocators never end
SLEPT_S = 0.1  # of the machine, which two readings of its clocks are not apart


class Meter(object):
    """CPU time of this process and of everything else on the machine, between two points."""

    def __init__(self, helpers):
        """helpers: ids of processes whose CPU time counts as this one's own."""
        self._helpers = helpers
        self._suspensions, self._asleep = 0, machine.asleep_seconds()
        signal.signal(signal.SIGCONT, self._resumed)
        self._own, self._all = self._own_seconds(), machine.cpu_seconds()
        self._start = time.perf_counter()

    def _resumed(self, number, frame):
        self._suspensions += 1

    def _own_seconds(self):
        return sum(os.times()[:2]) + sum(map(processes.cpu_seconds, self._helpers))

    def read(self):
        """{"wall_s", "own_cpu_s", "other_cpu_s", "steal_s", "suspensions": how often this process, or the machine, was
        stopped and went on} since the start (None: unknown)."""
        own = self._own_seconds() - self._own
        now, other, steal = machine.cpu_seconds(), None, None
        if now and self._all:
            other = max(0.0, now["busy"] - self._all["busy"] - own)
            steal = now["steal"] - self._all["steal"]
        wall = time.perf_counter() - self._start
        slept = machine.asleep_seconds() - self._asleep > SLEPT_S
        return {
            "wall_s": wall,
            "own_cpu_s": own,
            "other_cpu_s": other,
            "steal_s": steal,
            "suspensions": self._suspensions + slept,
        }


def state(runner):
    """{setting: value} of what a framework must not change while it is timed, read back: threads and denormals as it
    tells them, whether denormals are flushed to zero here, and the cores that this process may use."""
    told = runner.describe()["settings"]
    found = {name: told[name] for name in told if "threads" in name or "flush" in name}
    found["denormals are zero"] = bool(np.float32(1e-38) * np.float32(0.25) == 0)
    found["cores"] = machine.allowed_cores()
    return found


def changes(before, after):
    """In words, what differs between two states; "" for nothing."""
    names = sorted(name for name in before if before[name] != after.get(name))
    return ", ".join("%s (%s -> %s)" % (name, before[name], after.get(name)) for name in names)


def batches(workload, reset):
    """The workload's batches for ever. Where a state is carried, `reset` is called before an epoch's first one."""
    epoch = workload.epoch_batches() if workload.carried else None
    for number, batch in enumerate(workload.batches()):
        if epoch and number % epoch == 0:
            reset()
        yield batch


def fed(runner, batch, departure):
    """A batch as `step` gets it: host arrays, unless the protocol is departed from."""
    batch = runner.laid_out(*batch)
    return runner.on_device(*batch) if departure == departures.FED_BEFORE else batch


def sample(runner, batch, departure=None):
    """Seconds of one batch: host arrays in, results on the device, synchronised before the clock.

    By the host's clock on a GPU too. Events in a device's queue would leave out what the host does before the first
    kernel is queued, and count the gaps in which the device waits for the host: neither the time of a batch
    nor that of its kernels. What a step costs the host is what flexibility costs.
    """
    inputs, targets = fed(runner, batch, departure)
    start = time.perf_counter()
    handle = runner.step(inputs, targets)
    if departure != departures.UNSYNCHRONISED:
        runner.synchronise()
    if departure == departures.FETCHED:
        runner.results(handle)
    elapsed = time.perf_counter() - start
    del handle  # its memory is freed outside the timed region, before the next batch needs it
    return round(elapsed, 9)  # the clock tells no more, and digits are what records consist of


def some(runner, workload, count=3):
    """Run a few batches, of which nobody wants the times."""
    for batch in itertools.islice(workload.batches(), count):
        sample(runner, runner.laid_out(*batch), workload.departure)


def _limit(count, min_seconds, max_seconds=None):
    """Whether some batches and their seconds are enough: `count` of them that took `min_seconds`; or one, once `max_seconds` have passed
    (None: no limit)."""

    def enough(number, seconds):
        late = max_seconds is not None and seconds > max_seconds
        return late or number >= count and seconds >= min_seconds

    return enough


def _samples(runner, stream, departure, enough, report, ranges=unmarked):
    """Seconds of each batch, and how many page faults there were in each, until they are enough by their number and the
    seconds that have passed."""
    seconds, faults, helpers, start = [], [], runner.helpers(), time.perf_counter()
    for batch in stream:
        before = memory.faults(helpers)
        with ranges("batch"):  # outside the clock
            seconds.append(sample(runner, batch, departure))
        faults.append(memory.faults(helpers) - before)
        report("batch %d, %.4f s" % (len(seconds), seconds[-1]))
        if enough(len(seconds), time.perf_counter() - start):
            return seconds, faults


def _at_work(device, given, report):
    """(a GPU's state while it runs batches, as idle its clocks say nothing; the seconds of each batch). Until its clocks are up,
    and nvidia-smi, for one, has answered, which can take a second."""
    found, which = [], device.chosen()
    asking = threading.Thread(target=lambda: found.append(device.state(which)))
    seconds, _ = _samples(*given, _limit(1, device.WARM_S), report=report)
    asking.start()
    while asking.is_alive():
        seconds += _samples(*given, _limit(1, 0), report=report)[0]
    return found[0], seconds


class Clock(object):
    """Times the batches of a runner, a look at a time. Made when the machine is this process's."""

    def __init__(self, runner, workload, protocol, progress, device=cpu, ranges=unmarked):
        """Run the first step and batches to warm up. device: its kind (measurement.devices); ranges: makes a range that a profiler
        sees."""
        self._runner, self._protocol, self._report = runner, protocol, progress
        self._device, self._ranges = device, ranges
        # Whether the device's state is asked for, beside the CPU's.
        self._stated = device.chosen() is not None
        # Asked while the machine is this process's: it starts `lscpu`, which would disturb others' looks.
        self._cores = machine.usable_cores()
        self._given = (runner, batches(workload, runner.reset), workload.departure)
        self._yardstick = Yardstick(device.host_threads(workload.threads))
        with ranges("warm-up"):
            self.warmup = self._warm_up(workload.departure)
        reading = self._yardstick.read()
        self._found = {
            "warmup": self.warmup,
            "yardstick": {"before": reading},
            "frequency": {"before": cpu.state()},
        }
        if self._stated:
            state_at_work, more = _at_work(device, self._given, progress)
            self.warmup += more
            self._found["gpu"] = {"before": state_at_work}
        self._state = state(runner)

    def _warm_up(self, departure):
        """The first step, the protocol's further batches, and up to FURTHER_WARMUP more as long as one takes memory from the
        system; none of these begins when WARM_UP_S have passed since the first step."""
        seconds, faults = self._run(1)
        further = self._protocol["warmup_batches"] - 1
        settling = 0 if departure == departures.DEFAULT_MALLOC else FURTHER_WARMUP
        start = time.perf_counter()
        while further > 0 or settling > 0 and faults[-1] >= FEW_FAULTS:
            if self._protocol["most_s"] and time.perf_counter() - start > WARM_UP_S:
                break
            new, faults = self._run(1)
            seconds += new
            further, settling = further - 1, settling - (further <= 0)
        return seconds

    def _run(self, count, min_seconds=0):
        return _samples(*self._given, _limit(count, min_seconds), report=self._report)

    def look(self):
        """{"start": UTC, "batches": [s, ...], "faults": [page faults, ...], "warmup": [s, ...] of batches before it,
        "interference": Meter's, "handovers_per_s": readings before and after} of as many batches as take `look_s`, one at
        least."""
        before = self._handovers()
        warmup, _ = self._run(1, self._device.WARM_S)
        meter = Meter(self._runner.helpers())
        enough, start = _limit(1, self._protocol["look_s"]), datetime.datetime.utcnow()
        with self._ranges("timed"):
            seconds, faults = _samples(*self._given, enough, self._report, self._ranges)
        interference = meter.read()
        settle()  # threads that wait for work keep a core busy for up to 0.2 s, beside the next row's batches
        return {
            "start": start.isoformat() + "Z",
            "batches": seconds,
            "faults": faults,
            "warmup": warmup,
            "interference": interference,
            "handovers_per_s": [before, self._handovers()],
        }

    def _handovers(self):
        return None if self._stated else self._yardstick.handovers()

    def disturbed(self, look):
        """Whether others took a share of the machine during a look. How near its cores are to each other is judged by all of a
        run's readings, later: it stays as it is for minutes, and another look would see the same."""
        stretch = quiet.of_look(look, self._found["yardstick"]["before"])
        return bool(quiet.reasons(stretch, {}, self._cores))

    def finish(self):
        """After the last look: {"warmup": seconds of each batch of setting up, the first of which carries tracing, compiling and
        tuning; "yardstick", "frequency": readings before the first look and after the last; "changes": of the framework's
        settings meanwhile, in words; "gpu": where one takes part, its state at work before and after, and where the seconds of a
        batch go there (`batch`)}."""
        found = self._found
        found["changes"] = changes(self._state, state(self._runner))
        found["yardstick"]["after"] = self._yardstick.read()
        found["frequency"]["after"] = cpu.state()
        if self._stated:
            found["gpu"]["after"] = _at_work(self._device, self._given, self._report)[0]
            runner, stream, departure = self._given
            batch = fed(runner, next(stream), departure)
            found["gpu"]["batch"] = runner.device_times(*batch)
        return found
