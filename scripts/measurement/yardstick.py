"""A yardstick in every process: known work between stretches of timed batches, to tell a slow machine from a slow row.

On virtual machines one process in ten takes up to twice as long in every batch, and the system's counters say nothing.
What it would do fast elsewhere it does slowly too: some milliseconds of multiply-adds, of reading memory, and of handing
a number from thread to thread, on all threads. The last tells most. For half a second to half a minute two threads take
180 ns for it, not 60, as if the host had moved the virtual CPUs to cores that share no cache: nn.LSTM's batch then took
10.0 ms, not 5.5 (679 readings in 200 s), while memory was read faster. Of 669 processes of three runs without a sign 4
took more than 1.2 times as long as their cell's others; of 113 whose memory was that fast, 22.

The work is C, compiled once for this machine by whatever compiler there is: NumPy's matrix product is another library
in every environment, takes generic code for CPUs that are younger than itself, and has threads which stay behind.
Without a compiler it is NumPy's element-wise arithmetic; `by` says so, and only like is compared with like.

What its readings say of the batches between them: quiet.py.
"""

import ctypes
import hashlib
import json
import os
import platform
import subprocess
import tempfile
import threading
import time

from measurement import machine, quiet

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "yardstick.c")
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC")
COMPILERS = ("cc", "gcc", "clang")
REPETITIONS = 5  # of which the best counts: a process that is slow is slow in all
ITERATIONS = 1000000  # of 12 multiply-adds on vectors: 2 ms at 6 a nanosecond
BYTES = 64 << 20  # read by all threads together: more than caches hold
HANDING_S = 0.002
SETTLED = 0.2  # of a core, used by threads that still wait for work
PATIENCE_S = 0.4  # OpenMP's threads wait 0.2 s before they sleep
REMEMBERED = 50000  # bytes: the last 300 readings on this machine, by which a process tells whether it is slow now


def settle():
    """Return when this process's other threads have gone to sleep, or PATIENCE_S have passed."""
    end = time.perf_counter() + PATIENCE_S
    while time.perf_counter() < end:
        used, start = time.process_time(), time.perf_counter()
        time.sleep(0.01)
        if time.process_time() - used < SETTLED * (time.perf_counter() - start):
            return


def _cache():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "what-flexibility-costs")


def _memory():
    """The file of the readings that processes took since this machine was started."""
    return os.path.join(_cache(), "readings-%s.jsonl" % (machine.boot() or platform.node()))


def remembered():
    """The last readings of processes on this machine; [] where there were none, or no place for them. They decide how long
    a process goes on; which of its batches count, a report judges anew by all of the run's."""
    try:
        with open(_memory(), "rb") as stream:
            stream.seek(max(0, os.path.getsize(stream.name) - REMEMBERED))
            lines = stream.read().decode(errors="replace").splitlines()[1:]
    except OSError:
        return []
    return [one for one in map(_reading, lines) if one]


def _reading(line):
    """What `remember` wrote; None of anything else."""
    try:
        one = json.loads(line)
    except ValueError:
        return None
    numbers = (float, int, type(None))
    told = isinstance(one, dict) and {"by", "threads", *quiet.RATES} <= set(one)
    return one if told and all(isinstance(one[rate], numbers) for rate in quiet.RATES) else None


def remember(one):
    """Add a reading to those of this machine, where there is a place for them."""
    path = _memory()
    try:
        if os.path.exists(path) and os.path.getsize(path) > 20 * REMEMBERED:
            os.unlink(path)
        with open(path, "a") as stream:
            stream.write("\n" + json.dumps(one))
    except OSError:
        pass


def compiled():
    """The library of yardstick.c for this machine, compiled if it is not there yet; None without a compiler."""
    with open(SOURCE) as stream:
        source = stream.read()
    about = (source, FLAGS, platform.platform(), machine.cpu_flags())
    name = "yardstick-%s.so" % hashlib.sha256(repr(about).encode()).hexdigest()[:12]
    with tempfile.TemporaryDirectory() as folder:
        for place in (_cache(), folder):
            path = os.path.join(place, name)
            try:
                os.makedirs(place, exist_ok=True)
                if os.path.exists(path) or _compile(path):
                    return _library(path)
            except OSError:  # no place to write, or none to run from
                continue
    return None


def _compile(path):
    """Whether some compiler has made `path`, whole."""
    made = "%s.%d.tmp" % (path, os.getpid())
    for compiler in COMPILERS:
        try:
            command = (compiler,) + FLAGS + (SOURCE, "-o", made)
            subprocess.check_output(command, stderr=subprocess.STDOUT, timeout=60)
            os.rename(made, path)
            return True
        except (OSError, subprocess.SubprocessError):
            continue
    return False


def _library(path):
    library = ctypes.CDLL(path)
    times, size = ctypes.POINTER(ctypes.c_double), ctypes.c_size_t
    for function, result, arguments in (
        ("multiply_adds", ctypes.c_double, [ctypes.c_long, times]),
        ("take", ctypes.c_void_p, [size]),
        ("give_back", None, [ctypes.c_void_p, size]),
        ("read_memory", ctypes.c_double, [ctypes.c_void_p, size, times]),
        ("hand_over", ctypes.c_double, [ctypes.c_long, ctypes.c_long, ctypes.c_double, times]),
    ):
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


def _rate(work, threads):
    """Units a second of `work(number, times) -> units`, by all threads at once; the best of several times."""
    rates = []
    for _ in range(REPETITIONS):
        times, units = [(ctypes.c_double * 3)() for _ in range(threads)], [0.0] * threads

        def run(number, times=times, units=units):
            units[number] = work(number, times[number])

        others = [threading.Thread(target=run, args=(number,)) for number in range(1, threads)]
        for each in others:
            each.start()
        run(0)
        for each in others:
            each.join()
        rates.append(sum(units) / (max(t[1] for t in times) - min(t[0] for t in times)))
    return max(rates)


class InC(object):
    """The work in C."""

    by = "c"

    def __init__(self, library):
        self._library = library

    def multiply_adds(self, number, times):
        return self._library.multiply_adds(ITERATIONS, times)

    def handovers(self, threads):
        """A second, from thread to thread; None of a single one."""
        if threads == 1:
            return None
        work = self._library.hand_over
        return _rate(lambda number, times: work(number, threads, HANDING_S, times), threads)

    def memory(self, threads):
        """Memory for each thread, as a context, and the function that reads it."""
        return _Memory(self._library, threads)


class _Memory(object):
    def __init__(self, library, threads):
        self._library, self._bytes = library, BYTES // threads
        self._threads = threads

    def __enter__(self):
        self._taken = [self._library.take(self._bytes) for _ in range(self._threads)]
        return lambda number, times: self._library.read_memory(
            self._taken[number], self._bytes, times
        )

    def __exit__(self, *_):
        for each in self._taken:
            self._library.give_back(each, self._bytes)


class InNumpy(object):
    """The work in NumPy, one operation on small arrays after the other, which other threads need not wait for."""

    by = "numpy"

    def __init__(self):
        import numpy

        self._np = numpy

    def _timed(self, function, count, times):
        times[0] = time.perf_counter()
        for _ in range(count):
            function()
        times[1] = time.perf_counter()

    def multiply_adds(self, number, times):
        np, count, size = self._np, 200, 1 << 14
        x = np.ones(size, np.float32)
        self._timed(lambda: np.multiply(x, x, out=x), count, times)
        return float(count * size)

    def handovers(self, threads):
        return None  # Python's threads wait for each other anyway

    def memory(self, threads):
        return self

    def __enter__(self):
        np = self._np
        arrays = threading.local()

        def read(number, times):
            arrays.source = np.ones(BYTES // 8, np.float32)
            arrays.target = np.ones_like(arrays.source)
            self._timed(lambda: np.copyto(arrays.target, arrays.source), 1, times)
            return 2.0 * arrays.source.nbytes

        return read

    def __exit__(self, *_):
        pass


class Yardstick(object):
    """Made before the batches are run, read before and after each stretch of those that are timed."""

    def __init__(self, threads):
        library = compiled()
        self._work = InC(library) if library else InNumpy()
        self._threads = threads

    def handovers(self):
        """A reading of the hand-overs between threads alone, which takes 10 ms; None of a single thread, or without a compiler."""
        return self._work.handovers(self._threads)

    def read(self):
        """{"gflops", "gbytes_per_s", "handovers_per_s": rates of this process now, on all its threads (None: not
        measured); "threads", "by"}"""
        settle()
        gflops = _rate(self._work.multiply_adds, self._threads) / 1e9
        with self._work.memory(self._threads) as reading:
            gbytes = _rate(reading, self._threads) / 1e9
        found = {
            "gflops": gflops,
            "gbytes_per_s": gbytes,
            "handovers_per_s": self._work.handovers(self._threads),
            "threads": self._threads,
            "by": self._work.by,
        }
        remember(found)
        return found
