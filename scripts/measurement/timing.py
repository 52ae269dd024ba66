"""The clock: samples of one built implementation. It computes nothing from them."""

import itertools
import os
import signal
import threading
import time

import numpy as np

from measurement import departures, machine, memory, quiet
from measurement.ranges import unmarked
from measurement.yardstick import Yardstick

# A batch that faults in more pages still takes memory from the system: 256 MB are 62,500, and a twelfth of the time of
# PyTorch's forward pass. Its rows do so in some of their first six batches or so, after quiet ones too, until the blocks
# of the heap fit what the batches ask for.
FEW_FAULTS = 1000
FURTHER_WARMUP = 6  # batches, at most; some old allocators never end
SLEPT_S = 0.1  # of the machine, which two readings of its clocks are not apart

# After a pause (the yardstick is one, and has threads of its own) a framework's threads may share a core until the system
# moves one: TVM's batches then took twice as long for 5 to 50 ms, in nearly every process; those of others, whose caches
# the yardstick has emptied too, 1.2 to 1.5 times as long.
AGAIN_S = 0.1

# A stretch between two readings is long enough that they cost little of the time, and short enough that the machine seldom
# changes within it: what slows one lasts for half a second to half a minute.
STRETCH_S = 2
STRETCH_BATCHES = 3

# An idle GPU lowers its clocks, and it takes more than some batches of milliseconds to raise them.
GPU_WARM_S = 0.5

# What a GPU's row has of the host: the thread that launches, and PyTorch's second one for the backward pass. A yardstick on all
# of 16 virtual cores stops whenever one of them does: beside an H200 49 processes read 3,100 to 740,000 hand-overs a second, and
# 29 of them timed again, up to 20 times, to find a quiet stretch, though others took more than 5 % in 10 of 152 only.
GPU_HOST_THREADS = 2


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
        return sum(os.times()[:2]) + sum(map(machine.process_cpu_seconds, self._helpers))

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


def _limit(count, least, least_s, most_s):
    """Whether some batches and their seconds are enough: `count` of them that took `least_s`; or `least` of them, once
    `most_s` have passed (None: no limit)."""

    def enough(number, seconds):
        late = most_s is not None and seconds > most_s
        return late and number >= least or number >= count and seconds >= least_s

    return enough


def _samples(runner, stream, departure, enough, report, ranges=unmarked, settling=0):
    """Seconds of each batch, and how many page faults there were in each, until they are enough by their number and the
    seconds that have passed; no further than one of the first `settling` that takes memory."""
    seconds, faults, helpers, start = [], [], runner.helpers(), time.perf_counter()
    for batch in stream:
        before = memory.faults(helpers)
        with ranges("batch"):  # outside the clock
            seconds.append(sample(runner, batch, departure))
        faults.append(memory.faults(helpers) - before)
        report("batch %d, %.4f s" % (len(seconds), seconds[-1]))
        if _unsettled(faults, settling) or enough(len(seconds), time.perf_counter() - start):
            return seconds, faults


def _unsettled(faults, settling):
    """Whether the last of some batches takes memory, and is one of the first `settling`."""
    return len(faults) <= settling and faults[-1] >= FEW_FAULTS


def _at_work(gpu, given, report):
    """(a GPU's state while it runs batches, as idle its clocks say nothing; the seconds of each batch). For GPU_WARM_S, and
    until nvidia-smi has answered, which can take a second."""
    found = []
    asking = threading.Thread(target=lambda: found.append(machine.gpu_state(gpu)))
    seconds, _ = _samples(*given, _limit(1, 1, GPU_WARM_S, None), report=report)
    asking.start()
    while asking.is_alive():
        seconds += _samples(*given, _limit(1, 1, 0, None), report=report)[0]
    return found[0], seconds


def time_batches(runner, workload, protocol, progress, gpu=None, ranges=unmarked):
    """Time warm-up and timed batches as the protocol says; those up to one that takes memory are further warm-up; `gpu`: the
    one that takes part, as nvidia-smi names it; `ranges`: what names them in a profiler's timeline.

    Batches are timed in stretches between readings of the yardstick. Where the machine was slow, or others took much of
    it, there are more, until those of quiet stretches are as many as the protocol asks for, or `patience_s` have gone
    into waiting and into stretches that were not. All are kept.

    Returns {"warmup": [s, ...], "samples": [s, ...], "faults": [page faults, ...], "stretches": [{"batches": how many of
    them, "before", "after": what known work took, "interference": Meter's reading}, ...], "interference": over all of
    them, "frequency": the CPU's before and after them, "changes": of the framework's threads and denormals meanwhile, in
    words, "gpu": the GPU's state at work before and after them, and where the seconds of a batch go there (`batch`),
    where one takes part}. The first warm-up batch carries tracing, compiling and tuning: it is `first_step_s`.
    """
    least_s, most_s = protocol["least_s"], protocol["most_s"]
    given = (runner, batches(workload, runner.reset), workload.departure)
    threads = min(workload.threads, GPU_HOST_THREADS) if gpu else workload.threads
    yardstick, patience = Yardstick(threads), protocol["patience_s"]
    warmup, gpu_before = [], None

    def late():
        """But for the first step, which may compile for long."""
        return most_s is not None and sum(warmup[1:]) > most_s

    with ranges("warm-up"):
        if protocol["warmup_batches"] > 1:
            warmup, _ = _samples(*given, _limit(1, 1, 0, None), report=progress)
            left, left_s = protocol["warmup_batches"] - 2, least_s - sum(warmup)
            if left > 0 or left_s > 0:
                warmup += _samples(*given, _limit(left, 1, left_s, most_s), report=progress)[0]
        reading, waited = yardstick.wait(patience)
        patience -= waited
        if gpu:  # which was idle meanwhile
            gpu_before, more = _at_work(gpu, given, progress)
            warmup += more
        again = None if late() else _limit(1, 1, AGAIN_S, None)
        if again:
            warmup += _samples(*given, again, report=progress)[0]
    before, state_before = machine.frequency(), state(runner)
    enough = _limit(protocol["timed_batches"], protocol["least_batches"], least_s, most_s)
    settling = 0 if workload.departure == departures.DEFAULT_MALLOC else FURTHER_WARMUP
    samples, faults, stretches, calm = [], [], [], []

    def whole(number, seconds):
        """Whether a stretch has batches enough."""
        long = number >= STRETCH_BATCHES and seconds >= STRETCH_S
        return long or enough(len(calm) + number, sum(calm) + seconds)

    while True:
        settling = 0 if late() else settling
        meter = Meter(runner.helpers())
        with ranges("timed"):
            new, taken = _samples(*given, whole, progress, ranges, settling)
        if _unsettled(taken, settling):
            warmup += new
            settling -= len(new)
            continue
        settling, meanwhile, after = 0, meter.read(), yardstick.read()
        stretch = {"before": reading, "after": after, "interference": meanwhile}
        stretches.append(dict(stretch, batches=len(new)))
        samples += new
        faults += taken
        undisturbed = yardstick.quiet(stretch)
        if undisturbed:
            calm += new
        else:
            patience -= meanwhile["wall_s"]
        if enough(len(calm), sum(calm)) or patience <= 0 and enough(len(samples), sum(samples)):
            break
        reading, waited = (after, 0.0) if undisturbed else yardstick.wait(patience)
        patience -= waited
        if gpu:
            again = _limit(1, 1, GPU_WARM_S, None)
        if again:
            warmup += _samples(*given, again, report=progress)[0]
    found = {
        "warmup": warmup,
        "samples": samples,
        "faults": faults,
        "stretches": stretches,
        "interference": quiet.together([each["interference"] for each in stretches]),
        "changes": changes(state_before, state(runner)),
        "frequency": {"before": before, "after": machine.frequency()},
    }
    if gpu:
        found["gpu"] = {"before": gpu_before, "after": _at_work(gpu, given, progress)[0]}
        batch = fed(runner, next(given[1]), workload.departure)
        found["gpu"]["batch"] = runner.device_times(*batch)
    return found
