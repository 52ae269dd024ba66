"""Resources that run out: memory, time, disk, files, processes, stack."""

import contextlib
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from .snippets import at_step
from .trial import REPORT, TIMED, TIMING_S, Trial, fault

KEPT_BACK = r"cannot write\b.*\. Nothing is lost"


def need_root() -> None:
    if os.geteuid():
        pytest.skip("mounts and control groups need root")


def mount(trial: Trial, *arguments: str) -> None:
    """Mount something at the last argument, until the trial is over."""
    need_root()
    subprocess.run(["mount", *arguments], check=True)
    trial.end.callback(subprocess.run, ["umount", "-l", arguments[-1]], check=True)


def small_disk(trial: Trial, folder: Path) -> None:
    """Move a folder to a disk of its own."""
    saved = folder.rename(folder.with_name(f"{folder.name}-saved"))
    folder.mkdir()
    mount(trial, "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder))
    shutil.copytree(saved, folder, dirs_exist_ok=True)


def fill(trial: Trial, folder: Path, free_bytes: int) -> None:
    """Leave at most so much room on its disk, until the fault is mended."""
    filler = folder / "filler"
    trial.undo.callback(filler.unlink, missing_ok=True)
    stat = os.statvfs(folder)
    # the run may write in between: then its disk is full already
    with contextlib.suppress(OSError), open(filler, "wb") as stream:
        stream.write(bytes(stat.f_bavail * stat.f_frsize - free_bytes))


def group(trial: Trial, controller: str, limits: dict[str, str]) -> None:
    """A control group that the run is in, with limits, {file: value}, until the fault is mended."""
    need_root()
    unified = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    base = Path("/sys/fs/cgroup") if unified else Path("/sys/fs/cgroup", controller)
    folder = base / f"faults-{trial.root.parent.name}-{os.getpid()}-{threading.get_ident()}"
    try:
        folder.mkdir()
        for name, value in limits.items():
            (folder / name).write_text(value)
    except OSError as error:
        pytest.skip(f"no control group for {controller} here: {error}")
    trial.undo.callback(folder.rmdir)
    trial.undo.callback(trial.end_all)
    trial.before = f"echo $$ > {folder}/cgroup.procs; "


@fault(
    "a cell over a memory limit",
    r"time plain/faulty .*: out-of-memory: the system killed the process: out of memory",
    times=2,
)
def memory_group(trial: Trial) -> None:
    """control group of 900 MB, 4 GB taken at a random batch"""
    unified = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    group(trial, "memory", {"memory.max" if unified else "memory.limit_in_bytes": str(900 * 2**20)})
    at_step(trial, "kept.append(bytearray(b'x') * (4 << 30))")


@fault(
    "a cell over a limit of its address space",
    r"time plain/faulty .*: out-of-memory: MemoryError",
    times=2,
)
def memory_limit(trial: Trial) -> None:
    """ulimit -v, 64 GB asked for at a random batch"""
    trial.before = "ulimit -v 33554432; "
    at_step(trial, "kept.append(bytearray(64 << 30))")


@fault(
    "a cell over its time limit",
    r"time plain/faulty .*: timeout: not finished after 6 s \(protocol\.timeout_s\)",
    times=2,
    quick=True,
)
def time_limit(trial: Trial) -> None:
    """children that ignore SIGTERM and have left its session, and a batch without end"""
    trial.set_protocol(timeout_s=6)
    trial.undo.callback(trial.path("met").unlink)
    child = "import os, signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    at_step(
        trial,
        "import os, subprocess, sys",
        "if os.path.exists('met'):",  # one cell is enough
        "    return Model.step(self, inputs, targets)",
        "open('met', 'w').close()",
        f"subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True)",
        f"subprocess.Popen(['setsid', '-f', sys.executable, '-c', {child!r}])",
        "time.sleep(600)",
    )


@fault("the disk is full while records are written", KEPT_BACK, times=2, quick=True, ends=None)
def disk_of_records(trial: Trial) -> None:
    """results/ on a disk that is filled up to its last 4 kB during a timing"""
    folder = trial.path("results")
    small_disk(trial, folder)
    trial.start()
    trial.one("worker time", TIMING_S / 2)
    fill(trial, folder, trial.random.randrange(0, 4_000))


@fault(
    "the disk is full for Snakemake too", rf"{TIMED}|No space left on device", times=2, ends=None
)
def disk_of_all(trial: Trial) -> None:
    """the whole folder on a disk with 0 to 100 kB left, of which 80 are enough"""
    small_disk(trial, trial.root)
    fill(trial, trial.root, trial.random.randrange(0, 100_000))


@fault("the disk is full while tables and pages are made", KEPT_BACK, times=2, ends=None)
def disk_of_pages(trial: Trial) -> None:
    """results/ on a disk with 0 to 300 kB left, all measured"""
    trial.command = REPORT
    trial.complete()
    trial.forget("documents", "report", "cells.csv", "records.zip")
    folder = trial.path("results")
    small_disk(trial, folder)
    fill(trial, folder, trial.random.randrange(0, 300_000))


@fault(
    "the disk is full for temporary files",
    rf"{TIMED}|cannot write|No space left on device",
    times=2,
    ends=None,
)
def disk_of_temporary(trial: Trial) -> None:
    """TMPDIR on a disk with 0 to 4 kB left"""
    folder = trial.root.with_name(f"{trial.root.name}-tmp")
    folder.mkdir()
    small_disk(trial, folder)
    fill(trial, folder, trial.random.randrange(0, 4_000))
    trial.environment["TMPDIR"] = str(folder)


@fault(
    "the disk is full while a training run leaves checkpoints", KEPT_BACK, lab="training", ends=None
)
def disk_of_checkpoints(trial: Trial) -> None:
    """results/ on a disk that is filled up to its last 2 kB after the first checkpoint"""
    folder = trial.path("results")
    small_disk(trial, folder)
    trial.start()
    trial.first_checkpoint()
    fill(trial, folder, trial.random.randrange(0, 2_000))


@fault("results/ is read-only", r"cannot write results.*: Read-only file system", ends=False)
def read_only(trial: Trial) -> None:
    """a read-only mount"""
    folder = str(trial.path("results"))
    mount(trial, "--bind", folder, folder)
    subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
    trial.undo.callback(subprocess.run, ["mount", "-o", "remount,bind,rw", folder], check=True)


@fault("no inodes are left", KEPT_BACK, times=2, ends=None)
def inodes(trial: Trial) -> None:
    """results/ on a disk for a few more files"""
    folder = trial.path("results")
    small_disk(trial, folder)
    used = os.statvfs(folder).f_files - os.statvfs(folder).f_ffree
    few = used + trial.random.randrange(0, 8)
    subprocess.run(["mount", "-o", f"remount,nr_inodes={few}", str(folder)], check=True)
    more = ["mount", "-o", "remount,nr_inodes=100000", str(folder)]
    trial.undo.callback(subprocess.run, more, check=True)


@fault("few open files", rf"{TIMED}|Too many open files", ends=None)
def open_files(trial: Trial) -> None:
    """ulimit -n of 40"""
    trial.before = "ulimit -n 40; "


@fault(
    "few processes", rf"{TIMED}|Resource temporarily unavailable|can't start new thread", ends=None
)
def few_processes(trial: Trial) -> None:
    """control group of 8 processes and threads"""
    group(trial, "pids", {"pids.max": "8"})


@fault("a small stack")
def small_stack(trial: Trial) -> None:
    """ulimit -s of 128 kB"""
    trial.before = "ulimit -s 128; "
