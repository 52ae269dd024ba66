"""One run in a folder at a time, wherever the others are: in another container, or on another host that shares it.

The lock is `flock` on a file below results/. The kernel lets go of it however its holder ends, and it holds for all
containers of one kernel. Hosts that share a file system need not see each other's (Lustre mounted without `flock`, for
one): they read in that file whose it is, and see that it is touched every few seconds. So a lease is stale where
nobody has the lock and it is of this very boot, or nobody has touched it for a minute.
"""

import atexit
import errno
import fcntl
import functools
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from measurement import machine
from measurement.record import refused

FILE = Path("results/run.lock")
# Of the environment: the lease that a process works under which the run has started.
VARIABLE = "RUN_LEASE"
BEAT_S, STALE_S = 10.0, 60.0
ROOM_BYTES = 1 << 20  # less is of no use to a compiler


def boot() -> str:
    """Names the kernel that runs here since it was started; containers share it."""
    return machine.boot() or socket.gethostname()


def _container() -> str:
    """Names what a process's number is of."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _read(descriptor: int) -> dict:
    """Whose a lease is; {} where it is nobody's."""
    try:
        found = json.loads(os.pread(descriptor, 4096, 0))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _age_s(descriptor: int) -> float:
    """Since when nobody has touched it, by the clock of the disk that it lies on."""
    with tempfile.TemporaryFile(dir=FILE.parent) as now:
        now.write(b" ")
        now.flush()
        return os.fstat(now.fileno()).st_mtime - os.fstat(descriptor).st_mtime


def _refuse(descriptor: int) -> NoReturn:
    known = _read(descriptor)
    for _ in range(50):  # one that begins at this moment says a little later who it is
        if known:
            break
        time.sleep(0.1)
        known = _read(descriptor)
    who = f"process {known.get('pid', 'unknown')}"
    if known.get("boot", boot()) != boot():
        who += f" on {known.get('host')}, seen {max(0, _age_s(descriptor)):.0f} s ago"
    elif known.get("container", _container()) != _container():
        who += f" in a container, {known.get('host')}"
    sys.exit(f"Another run is at work in this folder ({who}); wait for it, or stop it.")


def take() -> bool:
    """Have this folder for this process, and those that it starts, until it ends; a stop with one line where another run
    has it. A process of the run that has it, has it. Returns whether the run begins here."""
    try:
        FILE.parent.mkdir(exist_ok=True)
        descriptor = os.open(FILE, os.O_RDWR | os.O_CREAT, 0o666)
        known = _read(descriptor)
        if known and known.get("token") == os.environ.get(VARIABLE):
            os.close(descriptor)
            return False
        _take(descriptor)
        return True
    except OSError as error:
        sys.exit(refused(f"cannot write {FILE}: {error.strerror}"))


def _take(descriptor: int) -> None:
    alone = True  # whether the lock says so
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            _refuse(descriptor)
        alone = False  # a file system without such locks
    known = _read(descriptor)
    ours = alone and known.get("boot") == boot()
    if known and not ours and _age_s(descriptor) < STALE_S:
        _refuse(descriptor)
    for folder in _folders(known.get("token")):  # of one that was killed
        shutil.rmtree(folder, ignore_errors=True)
    token = secrets.token_hex(8)
    about = {"token": token, "pid": os.getpid(), "container": _container()}
    text = json.dumps(about | {"host": socket.gethostname(), "boot": boot()}).encode()
    os.pwrite(descriptor, text, 0)
    os.ftruncate(descriptor, len(text))
    os.fsync(descriptor)
    os.environ[VARIABLE] = token
    folder = os.open(FILE.parent, os.O_RDONLY)  # wherever that is moved to
    given_back = threading.Event()
    held = functools.partial(_held, folder, descriptor, token)
    threading.Thread(target=_keep, args=(held, descriptor, given_back), daemon=True).start()
    atexit.register(_give_back, held, descriptor, given_back, os.getpid())


def _folders(token: object) -> list[str]:
    """Where a run's temporary files may lie: below TMPDIR or, where that cannot serve, below results/. A lease may have
    come from anywhere: it names nothing else."""
    if not re.fullmatch("[0-9a-f]{16}", str(token)):
        return []
    places = (tempfile.gettempdir(), FILE.parent.resolve())
    return [os.path.join(place, f"run-{token}") for place in places]


def _serves(folder: str) -> bool:
    """Whether a folder takes what compilers write, and lets it run (it may be full, or mounted `noexec`)."""
    program = os.path.join(folder, "program")
    try:
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + "#" * ROOM_BYTES)
        os.chmod(program, 0o700)
        subprocess.run([program], check=True)
        os.unlink(program)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def temporary() -> str:
    """Makes the folder for the temporary files of this run; it goes with it, or with the next one. Raises OSError where
    there is none."""
    for folder in _folders(os.environ[VARIABLE]):
        with suppress(OSError):
            os.mkdir(folder, 0o700)
            if _serves(folder):
                atexit.register(shutil.rmtree, folder, ignore_errors=True)
                return folder
        shutil.rmtree(folder, ignore_errors=True)
    raise OSError(errno.ENOSPC, "no folder for temporary files takes and runs a program")


def use_temporary() -> None:
    """Have this process, and those that it starts, write temporary files to the folder of this run."""
    with suppress(OSError):  # a full disk: what needs more room there says so itself
        os.environ["TMPDIR"] = temporary()
        tempfile.tempdir = None  # is chosen anew


def _held(folder: int, descriptor: int, token: str) -> bool:
    """Whether the lease is there and still this run's."""
    try:
        there = os.stat(FILE.name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor)) and _read(descriptor).get("token") == token


def _keep(held: Callable[[], bool], descriptor: int, given_back: threading.Event) -> None:
    """Touch the lease as long as it is this run's, and end the run where it is not."""
    pause_s = min(1.0, BEAT_S)  # of two hosts that took it in one instant, one sees it soon
    while not given_back.wait(pause_s):
        pause_s = BEAT_S
        try:
            if not held():
                break
            os.utime(descriptor)
        except OSError:
            continue  # a disk that does not answer; what is measured says so itself
    if not given_back.is_set():
        sys.stderr.write(f"{FILE} belongs to another run now, or was deleted: this run stops.\n")
        os.kill(os.getpid(), signal.SIGTERM)


def _give_back(
    held: Callable[[], bool], descriptor: int, given_back: threading.Event, process: int
) -> None:
    if os.getpid() == process:  # and no fork of it
        given_back.set()
        if held():
            os.ftruncate(descriptor, 0)
