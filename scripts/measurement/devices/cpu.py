"""The machine's CPU."""

import glob

from measurement import departures, memory
from measurement.system import integers, read

# What a turn begins with: another row's batches have emptied the caches, and after a pause a framework's threads may share a core
# until the system moves one, for 5 to 50 ms: TVM's batches then took twice as long, in nearly every process.
WARM_S = 0.1
HIDDEN = {}  # nothing hides it


def found():
    """[]: every machine has one, which `machine.facts` describes."""
    return []


def variables(count, departure=None):
    """Environment variables of a process that computes on it."""
    return {} if departure == departures.DEFAULT_MALLOC else memory.KEPT


def chosen():
    """None: it does not have to be named."""
    return None


def _integers(pattern):
    """The numbers in the files of a pattern, one each; [] where there is none."""
    return integers(filter(None, map(read, glob.glob(pattern))))


def state(which=None):
    """{"mhz": clock of the fastest CPU at this moment, "throttled": how often CPUs were slowed down for heat
    since boot}; None for what the system does not say. Read it while the cores are busy: an idle one is slow."""
    cpus = "/sys/devices/system/cpu/cpu[0-9]*/"
    mhz = [khz / 1e3 for khz in _integers(cpus + "cpufreq/scaling_cur_freq")]
    if not mhz:  # no cpufreq driver, as on most virtual machines
        lines = (read("/proc/cpuinfo") or "").splitlines()
        mhz = [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
    throttled = _integers(cpus + "thermal_throttle/core_throttle_count")
    return {"mhz": max(mhz) if mhz else None, "throttled": sum(throttled) if throttled else None}


def host_threads(threads):
    """How many of a cell's threads on the host matter to it."""
    return threads


def profiler_ranges():
    """None: its profilers have no ranges."""
    return None
