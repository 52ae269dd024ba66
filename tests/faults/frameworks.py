"""Frameworks that break, lie, or change what they were told."""

from .snippets import at_step, write
from .trial import Trial, fault

BOTH = ("check", "time")
# Machine code of `ldmxcsr [rdi]; ret`: sets a thread's rounding and what becomes of denormals.
FLUSH = """\
import ctypes, mmap, platform
assert platform.machine() in ("x86_64", "AMD64")
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([0x0F, 0xAE, 0x17, 0xC3]))
flags = ctypes.c_uint32(0x9FC0)
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
"""
NUMPY = "import numpy"
SPOILT = """\
found, factor = Model.step(self, inputs, targets), {}
for part in (found, found.get('gradients', {{}})):
    for name in part:
        part[name] = part[name] if name == 'gradients' else part[name] * factor
return found"""


@fault(
    "a framework cannot be imported",
    r"check plain/faulty .*: failed: ImportError: libframework\.so: cannot open",
)
def no_import(trial: Trial) -> None:
    """ImportError in its module"""
    write(trial, "raise ImportError('libframework.so: cannot open shared object file')")


@fault("a wrong version is resolved", r"environment second: numpy 9.* is pinned, .* is installed")
def wrong_version(trial: Trial) -> None:
    """an interpreter with another NumPy than is pinned, which is measured and said"""
    trial.change("envs/second.yaml", "numpy==", "numpy==9")


@fault(
    "wrong gradients",
    r"check plain/faulty training .*: incorrect: gradient:lstm\.0\.recurrent is off by 0\.001",
)
def wrong_gradients(trial: Trial) -> None:
    """one gradient a thousandth too long, in the check"""
    write(
        trial,
        "def results(self, handle):\n"
        "    found = Model.results(self, handle)\n"
        "    for name, value in found.get('gradients', {}).items():\n"
        "        found['gradients'][name] = value * (1.001 if name == 'lstm.0.recurrent' else 1)\n"
        "    return found\n",
    )


@fault("results that are no numbers", r"plain/faulty .*: incorrect: .*is off by (inf|nan)", times=2)
def not_a_number(trial: Trial) -> None:
    """NaN from a random batch on, in checks and under the clock"""
    at_step(trial, *SPOILT.format("numpy.nan").splitlines(), kinds=BOTH, every=True, first=NUMPY)


@fault(
    "results that change from run to run",
    r"time plain/faulty .*: incorrect: after the last timed batch, .* is off by",
    times=2,
)
def changing(trial: Trial) -> None:
    """right in the check, off by a random thousandth under the clock"""
    noise = "numpy.random.uniform(1.001, 1.01)"
    at_step(trial, *SPOILT.format(noise).splitlines(), every=True, first=NUMPY)


@fault(
    "a process that ends as if all were well",
    r"time plain/faulty .*: failed: the process ended with exit status 0 without a result",
)
def quiet_end(trial: Trial) -> None:
    """exit status 0 at a random batch, without a result"""
    at_step(trial, "import os; os._exit(0)")


@fault(
    "a hang that holds the interpreter's lock",
    r"time plain/faulty .*: timeout: not finished after 6 s",
)
def hang(trial: Trial) -> None:
    """sleep of the C library by ctypes.PyDLL, at a random batch"""
    trial.set_protocol(timeout_s=6)
    at_step(trial, "import ctypes; ctypes.PyDLL(None).sleep(600)")


@fault(
    "a segmentation fault, after output that looks like a record",
    r"time plain/faulty .*: failed: the process was ended by signal SIGSEGV",
    times=3,
)
def fake_record(trial: Trial) -> None:
    """an ok record with made-up samples on standard output and error, then a read at address 0, at a random batch"""
    at_step(
        trial,
        "import sys",
        'text = \'{"status": "ok", "reason": "", "samples": [1e-9]}\'',
        "print(text, flush=True); print(text, file=sys.stderr, flush=True)",
        "import ctypes; ctypes.string_at(0)",
    )


@fault(
    "a framework changes its threads while it is timed",
    r"time plain/faulty .*: failed: the framework changed its settings .*: threads \(1 -> 7\)",
)
def threads_changed(trial: Trial) -> None:
    """as it tells itself, at a random batch"""
    at_step(
        trial,
        "runner.describe = lambda told=runner.describe(): "
        "dict(told, settings=dict(told['settings'], threads=7))",
    )


@fault(
    "a framework binds itself to one core",
    r"time plain/faulty .*: failed: the framework changed its settings .*: cores \(\d+ -> 1\)",
)
def bound(trial: Trial) -> None:
    """sched_setaffinity at a random batch"""
    at_step(trial, "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])")


@fault(
    "a framework turns denormals to zero while it is timed",
    r"time plain/faulty .*: failed: .*denormals are zero \(False -> True\)",
)
def denormals_changed(trial: Trial) -> None:
    """the processor's flags set at a random batch"""
    call = "ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(flags))"
    at_step(trial, call, first=FLUSH)
