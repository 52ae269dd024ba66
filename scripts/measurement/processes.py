"""Processes of this machine: which there are below another one, what they take, and how they end. Linux; elsewhere most of it
does nothing."""

import os
import signal
import threading
import time

from measurement.system import integers, read


def adopt():
    """Linux: what this process has started stays below it, whatever becomes of those between. Elsewhere nothing."""
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def die_with_parent(parent=None):
    """Linux: this process must not outlive the one that started it, and disturb the next cell. Elsewhere nothing.

    parent: the id of that one, where it may have ended before this process got here."""
    _prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if parent not in (None, os.getppid()):
        os._exit(1)


def _prctl(option, value):
    try:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def alive(pid):
    """Whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def stopped(pid):
    """Whether a process was stopped (SIGSTOP) and did not go on yet; False where the system does not tell."""
    return _process_fields(pid)[0] in ("T", "t")


def descendants(pid):
    """Ids of all processes below another one that run still; [] where the system does not tell."""
    parents, found, queue = {}, [], [pid]
    for each in integers(os.listdir("/proc") if os.path.isdir("/proc") else []):
        state, parent = _process_fields(each)[:2]
        if state != "Z":
            parents.setdefault(int(parent), []).append(each)
    while queue:
        below = parents.get(queue.pop(), [])
        found += below
        queue += below
    return found


def end_descendants(pid):
    """End all processes below another one, also those that ignore being asked to and those that they start meanwhile."""
    for _ in range(100):
        below = descendants(pid)
        if not below:
            return
        for each in below:
            try:
                os.kill(each, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.01)


def end_with(parent):
    """From now on, this process and all below it end when another one does."""

    def watch():
        while alive(parent):
            time.sleep(1)
        end_descendants(os.getpid())
        os.kill(os.getpid(), signal.SIGKILL)

    thread = threading.Thread(target=watch)
    thread.daemon = True
    thread.start()


def _process_fields(pid):
    """The numbers in /proc/<pid>/stat from the third on, as texts; zeros where the system does not tell."""
    return (read("/proc/%d/stat" % pid) or "").rpartition(")")[2].split() or ["0"] * 13


def cpu_seconds(pid):
    """CPU time of another process so far; 0.0 where the system does not tell."""
    return sum(map(int, _process_fields(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def page_faults(pid):
    """Page faults without input or output of another process so far; 0 where the system does not tell."""
    return int(_process_fields(pid)[7])


def peak_bytes(pid):
    """Peak resident memory of another process; 0 where the system does not tell."""
    try:
        with open("/proc/%d/status" % pid) as stream:
            lines = dict(line.split(":", 1) for line in stream)
    except OSError:
        return 0
    return 1024 * int(lines["VmHWM"].split()[0]) if "VmHWM" in lines else 0
