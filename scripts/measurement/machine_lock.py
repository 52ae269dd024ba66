"""One clock at a time on a machine, whatever runs, folders and users there are.

Within a run Snakemake sees to it; runs in two folders do not know of each other. So everything that computes holds a lock
of the machine while it does: a clock alone, all else beside others of its kind. The system lets go of it however its
holder ends. A container that has a /tmp of its own has a lock of its own too; what it takes of the machine shows as
interference.
"""

import contextlib
import errno
import fcntl
import os
import signal
import stat
import time

from measurement import processes

# Of the environment: another file than FILE, for clocks that are to wait for some others only; empty: for those of this folder.
VARIABLE = "CLOCK_LOCK"
FILE = "/tmp/flexibility-clock.lock"
OWN = "results/clock.lock"
ENDED = "the workflow has ended; its processes stop too"
LOOK_S = 1  # a look a second whether the turn is still wanted
MAX_SECONDS = 12 * 3600.0  # longer than any cell's time limit here


def _opened(path):
    """A descriptor of the lock's file, which may be another user's and is never written; None where there cannot be
    one: a clock that cannot wait measures."""
    how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    for more in (0, os.O_CREAT | os.O_EXCL, 0):  # with O_CREAT, Linux refuses another user's file
        try:
            found = os.open(path, how | more, 0o644)
        except OSError:
            continue
        if stat.S_ISREG(os.fstat(found).st_mode):
            return found
        os.close(found)
    return None


def _holder(descriptor):
    """Who has the lock, in words, as far as the system tells."""
    about = os.fstat(descriptor)
    device = "%02x:%02x" % (os.major(about.st_dev), os.minor(about.st_dev))
    place = "%s:%d" % (device, about.st_ino)
    try:
        with open("/proc/locks") as stream:
            fields = [line.split() for line in stream]
        for pid in (line[4] for line in fields if line[1] == "FLOCK" and line[5] == place):
            if int(pid) > 0:
                return "process %s in %s" % (pid, os.readlink("/proc/%s/cwd" % pid))
    except (OSError, IndexError, ValueError):
        pass
    return "another run"


def _await(descriptor, how, parent, max_seconds):
    """Wait for the lock, without looking at it: the system says when it is free. A stop with one line where the process
    that wants it has ended, or nobody lets go of it."""
    end = time.monotonic() + max_seconds

    def look(number, frame):
        if parent and not processes.alive(parent):
            raise SystemExit(ENDED)
        if time.monotonic() > end:
            raise SystemExit(
                "%s has kept this machine's clock for %g hours; end it, or measure beside it with %s= (empty)"
                % (_holder(descriptor), max_seconds / 3600, VARIABLE)
            )

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
    try:
        fcntl.flock(descriptor, how)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def hold(alone, say, parent=None, max_seconds=MAX_SECONDS):
    """Compute when it is this process's turn: alone on the machine, for a clock, or beside others that are not alone.

    say: takes a line, where it has to wait; parent: the process that asked for it. From the main thread only.
    """
    descriptor = _opened(os.environ.get(VARIABLE, FILE) or OWN)
    if descriptor is None:
        yield
        return
    how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                holder = _holder(descriptor)
                if not holder.endswith(" in " + os.getcwd()):
                    say("waits for %s, which is measuring on this machine" % holder)
                _await(descriptor, how, parent, max_seconds)
            # Else the place knows no such locks.
        yield
    finally:
        os.close(descriptor)
