"""The clock: samples of one built implementation. It computes nothing from them."""

import os
import time

from measurement import departures, machine


class Meter(object):
    """CPU time of this process and of everything else on the machine, between two points."""

    def __init__(self):
        self._own, self._all = sum(os.times()[:2]), machine.cpu_seconds()
        self._start = time.perf_counter()

    def read(self):
        """{"wall_s", "own_cpu_s", "other_cpu_s", "steal_s"} since the start (None: unknown)."""
        own = sum(os.times()[:2]) - self._own
        now, other, steal = machine.cpu_seconds(), None, None
        if now and self._all:
            other = max(0.0, now["busy"] - self._all["busy"] - own)
            steal = now["steal"] - self._all["steal"]
        wall = time.perf_counter() - self._start
        return {"wall_s": wall, "own_cpu_s": own, "other_cpu_s": other, "steal_s": steal}


def fed(runner, batch, departure):
    """A batch as `step` gets it: host arrays, unless the protocol is departed from."""
    return runner.on_device(*batch) if departure == departures.FED_BEFORE else batch


def sample(runner, batch, departure=None):
    """Seconds of one batch: host arrays in, results on the device, synchronised before the clock."""
    inputs, targets = fed(runner, batch, departure)
    start = time.perf_counter()
    handle = runner.step(inputs, targets)
    if departure != departures.UNSYNCHRONISED:
        runner.synchronise()
    if departure == departures.FETCHED:
        runner.results(handle)
    elapsed = time.perf_counter() - start
    del handle  # its memory is freed outside the timed region, before the next batch needs it
    return elapsed


def _samples(runner, batches, departure, count, least_s, most_s, report):
    """Seconds of each of `count` batches; of more until `least_s` have passed; of fewer once `most_s` have
    (None: no limit), but one at least."""
    seconds, start = [], time.perf_counter()
    for batch in batches:
        seconds.append(sample(runner, batch, departure))
        report("batch %d/%d, %.4f s" % (len(seconds), count, seconds[-1]))
        passed = time.perf_counter() - start
        if most_s is not None and passed > most_s or len(seconds) >= count and passed >= least_s:
            return seconds


def time_batches(runner, workload, protocol, progress):
    """Time warm-up and timed batches as the protocol says.

    Returns {"warmup": [s, ...], "samples": [s, ...], "interference": Meter's reading over the timed
    batches, "frequency": the CPU's before and after them}. The first warm-up batch carries tracing, compiling
    and tuning: it is `first_step_s`.
    """
    limits = (protocol["least_s"], protocol["most_s"])
    given = (runner, workload.batches(), workload.departure)
    warmup = _samples(*given, protocol["warmup_batches"], *limits, report=progress)
    before = machine.frequency()
    meter = Meter()
    samples = _samples(*given, protocol["timed_batches"], *limits, report=progress)
    return {
        "warmup": warmup,
        "samples": samples,
        "interference": meter.read(),
        "frequency": {"before": before, "after": machine.frequency()},
    }
