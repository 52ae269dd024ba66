"""What disturbs a clock: other programs, other clocks, a process that stands still or is slow for no reason."""

import csv
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from measurement import quiet
from measurement.record import read_json

from .resources import need_root
from .snippets import BATCHES, at_step
from .trial import REPORT, Trial, fault

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The clock on the wall jumps once the file is there; no other one does. */
static long jump(void) { return access("clock", F_OK) ? 0 : JUMP; }

int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = dlsym(RTLD_NEXT, "clock_gettime");
    int status = next(which, now);
    if (which == CLOCK_REALTIME) now->tv_sec += jump();
    return status;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *result) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (result) *result = found.tv_sec;
    return found.tv_sec;
}
"""


def flags(trial: Trial) -> None:
    """Add to what was printed what the report says of each cell."""
    with open(trial.path("results/cells.csv"), newline="") as table:
        for row in csv.DictReader(table):
            if row["device"] == "cpu":
                trial.printed += (
                    f"\nreported: {row['implementation']} {row['phase']}: {row['status']}, "
                    f"flags: {row['flags']}"
                )


def looks(trial: Trial) -> None:
    """Add to what was printed why looks do not count, by the records."""
    for file in trial.path("results/records").rglob("*.json"):
        record = read_json(str(file))
        name = "{implementation} {phase}".format(**record["identity"])
        for look in record.get("looks", ()):
            stretch = quiet.of_look(look, record["yardstick"]["before"])
            for why in quiet.reasons(stretch, {}, record["machine"]["cores"]):
                trial.printed += f"\nlook: {name}: {why}"


def met(trial: Trial) -> None:
    """Wait until a cell is at the batch that `at_step` was given."""
    while not trial.path("reached").exists() and trial.running.poll() is None:
        time.sleep(0.01)


@fault(
    "another program loads the machine during a cell",
    r"^look: plain/faulty .*: others took",
    times=2,
)
def loaded(trial: Trial) -> None:
    """a busy process a core, from a random batch on"""
    trial.command = REPORT
    burn = "import time\nend = time.time() + 4\nwhile time.time() < end: pass"
    trial.undo.callback(trial.path("reached").unlink)
    at_step(trial, "open('reached', 'a').close()")
    trial.start()
    met(trial)
    others = [subprocess.Popen([sys.executable, "-c", burn]) for _ in range(os.cpu_count())]
    trial.wait()
    for other in others:
        other.wait()
    looks(trial)


@fault("a process is suspended", r"^look: plain/faulty .*: the process was stopped", times=2)
def suspended(trial: Trial) -> None:
    """SIGSTOP in the middle of the timed batches, SIGCONT a second later"""
    trial.command = REPORT
    first = trial.random.randrange(3, BATCHES - 1)
    at_step(
        trial,
        f"if steps in ({first}, {first + 1}):",  # one of them is timed: the other may be a look's warm-up
        "    import os, subprocess",
        "    subprocess.Popen(['sh', '-c', 'sleep 1; kill -CONT %d' % os.getpid()])",
        "    os.kill(os.getpid(), 19)",
        every=True,
    )
    trial.run_through()
    looks(trial)


@fault("the clock is set", times=2)
def clock(trial: Trial) -> None:
    """an hour back, or ten hours ahead, beyond every time limit, for all processes of the run, at a random batch"""
    jump_s = trial.next_of(-3600, 36_000)
    source, library = trial.root.with_suffix(".c"), trial.root.with_suffix(".so")
    source.write_text(SHIM)
    command = ["cc", "-shared", "-fPIC", "-O1", f"-DJUMP={jump_s}L", str(source), "-o"]
    try:
        subprocess.run([*command, str(library), "-ldl"], check=True)
    except OSError:
        pytest.skip("no compiler")
    trial.environment["LD_PRELOAD"] = str(library)
    trial.undo.callback(trial.path("clock").unlink)
    at_step(trial, "open('clock', 'a').close()")


@fault("the CPU's frequency changes", r"reported: plain/faulty .*: ok, flags: .*frequency")
def frequency(trial: Trial) -> None:
    """/proc/cpuinfo says half of it from a random batch on"""
    if Path("/sys/devices/system/cpu/cpu0/cpufreq").exists():
        pytest.skip("the frequency is read where it cannot be made up")
    lines = Path("/proc/cpuinfo").read_text().splitlines(keepends=True)
    if not any(line.startswith("cpu MHz") for line in lines):
        pytest.skip("the machine does not say its frequency")
    trial.command = REPORT
    fake = trial.root.with_suffix(".cpuinfo")
    fake.write_text("".join(lines))
    need_root()
    trial.wrap = ("unshare", "-m")
    trial.before = f"mount --bind {fake} /proc/cpuinfo; "
    half = "lines = open(name).read().splitlines(True)"
    at_step(
        trial,
        f"name = {str(fake)!r}",
        half,
        "said = ''.join('cpu MHz : 1000.000\\n' if l.startswith('cpu MHz') else l for l in lines)",
        "open(name, 'w').write(said)",
    )
    trial.run_through()
    flags(trial)
