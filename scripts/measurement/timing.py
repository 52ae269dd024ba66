"""The clock: samples of one built implementation. It computes nothing from them."""

import itertools
import os
import time

from measurement import machine


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


def sample(runner, batch):
    """Seconds of one batch: host arrays in, results on the device, synchronised before the clock."""
    inputs, targets = batch
    start = time.perf_counter()
    handle = runner.step(inputs, targets)
    runner.synchronise()
    elapsed = time.perf_counter() - start
    del handle  # its memory is freed outside the timed region, before the next batch needs it
    return elapsed


def time_batches(runner, workload, warmup_batches, timed_batches, progress):
    """Time warm-up and timed batches.

    Returns {"warmup": [s, ...], "samples": [s, ...], "interference": Meter's reading over the timed
    batches}. The first warm-up batch carries tracing, compiling and tuning: it is `first_step_s`.
    """
    total = warmup_batches + timed_batches
    seconds, meter = [], None
    for number, batch in enumerate(itertools.islice(workload.batches(), total)):
        if number == warmup_batches:
            meter = Meter()
        seconds.append(sample(runner, batch))
        progress("batch %d/%d, %.4f s" % (number + 1, total, seconds[-1]))
    return {
        "warmup": seconds[:warmup_batches],
        "samples": seconds[warmup_batches:],
        "interference": meter.read(),
    }
