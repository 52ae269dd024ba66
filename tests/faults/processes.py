"""Processes that are killed or interrupted, at every level of a run."""

import os
import shutil
import signal
import time

from .trial import REPORT, Trial, fault

TIMING_S, CHECK_S = 1.5, 0.5  # how long they take here, about
GOES_ON = r"Cells: 4 ok"  # what `make report` ends with
MOMENTS = 10


@fault(
    "a timing process is killed",
    "kill -9 of the worker",
    r"time plain/faulty .*: failed: the process was ended by signal SIGKILL",
    times=MOMENTS,
    ends=True,
    quick=True,
)
def timing_killed(trial: Trial) -> None:
    trial.start()
    trial.one("worker time", TIMING_S).kill()
    trial.wait()


@fault(
    "a check's process is killed",
    "kill -9 of the worker",
    r"check plain/faulty .*: failed: the process was ended by signal SIGKILL",
    times=MOMENTS,
    ends=True,
)
def check_killed(trial: Trial) -> None:
    trial.start()
    trial.one("worker checking", CHECK_S).kill()
    trial.wait()


@fault(
    "the process that watches over a timing is killed",
    "kill -9 of the supervisor",
    r"Everything that was finished stays\. Mend it and run the same command",
    times=5,
)
def supervisor_killed(trial: Trial) -> None:
    trial.start()
    trial.one("supervisor time", TIMING_S).kill()
    trial.wait()


@fault(
    "Snakemake is killed",
    "kill -9 of Snakemake under make report",
    GOES_ON,
    times=MOMENTS,
    quick=True,
    ends=False,
)
def snakemake_killed(trial: Trial) -> None:
    trial.command = REPORT
    trial.start()
    trial.one("snakemake")
    trial.sleep(0, 8)
    for process in trial.of("snakemake"):
        process.kill()
    trial.wait()


@fault("make report is killed", "kill -9 of its process", GOES_ON, times=3, ends=False)
def report_killed(trial: Trial) -> None:
    trial.command = REPORT
    trial.start()
    trial.one("snakemake")
    trial.sleep(0, 8)
    trial.running.kill()
    trial.wait()


@fault(
    "make report is ended",
    "SIGTERM to its process, as from a container's end",
    r"^Stopped\. Everything that was finished stays; the same command goes on\.",
    times=3,
    ends=False,
)
def report_ended(trial: Trial) -> None:
    trial.command = REPORT
    trial.start()
    trial.one("snakemake")
    trial.sleep(0, 8)
    trial.running.terminate()
    trial.wait()


@fault(
    "the terminal is closed",
    "SIGHUP to all processes of the terminal",
    r"^Stopped\. Everything that was finished stays; the same command goes on\.",
    times=3,
    ends=False,
)
def terminal_closed(trial: Trial) -> None:
    interrupted(trial, signal.SIGHUP)


@fault(
    "Ctrl-C",
    "SIGINT to all processes of the terminal, once",
    r"^Stopped\. Everything that was finished stays; the same command goes on\.",
    times=MOMENTS,
    ends=False,
)
def interrupted_once(trial: Trial) -> None:
    interrupted(trial, signal.SIGINT)


@fault(
    "Ctrl-C twice",
    "SIGINT to all processes of the terminal, twice within a second",
    r"^Stopped\. Everything that was finished stays; the same command goes on\.",
    times=5,
    ends=False,
)
def interrupted_twice(trial: Trial) -> None:
    interrupted(trial, signal.SIGINT, signal.SIGINT)


def interrupted(trial: Trial, *signals: int) -> None:
    trial.command = REPORT
    trial.start()
    trial.one("snakemake")
    trial.sleep(0, 8)
    for number in signals:
        os.killpg(trial.running.pid, number)
        time.sleep(trial.random.uniform(0, 1))
    trial.wait()


@fault(
    "a power failure",
    "kill -9 of all processes of the run at once, locks and half-written files left behind",
    GOES_ON,
    times=MOMENTS,
    ends=False,
)
def power_failure(trial: Trial) -> None:
    trial.command = REPORT
    trial.start()
    trial.one("snakemake")
    trial.sleep(0, 8)
    trial.end_all()
    trial.wait()


@fault(
    "a second run in the same folder",
    "make report while another one measures",
    r"Another run is at work in this folder \(process \d+\); wait for it, or end it\.",
    times=3,
    ends=True,
)
def second_run(trial: Trial) -> None:
    trial.command = REPORT
    trial.start()
    trial.one("worker time", TIMING_S)
    second = trial.beside()
    trial.wait()
    trial.printed += second


@fault(
    "a child of a data-parallel row is killed",
    "kill -9 of the second worker, in its check or under the clock",
    r"(check|time) pytorch/data-parallel .*: (failed|timeout): ",
    times=MOMENTS,
    lab="parallel",
    ends=True,
)
def child_killed(trial: Trial) -> None:
    trial.start()
    trial.one("helper spawn_main", 4).kill()
    trial.wait()


@fault(
    "a child of a data-parallel row stands still",
    "SIGSTOP of the second worker for good",
    r"(check|time) pytorch/data-parallel .*: timeout: not finished after",
    lab="parallel",
    ends=True,
)
def child_stopped(trial: Trial) -> None:
    trial.start()
    trial.one("helper spawn_main", 4).suspend()
    trial.wait()


@fault(
    "a tuning worker is killed",
    "kill -9 of a process that builds or runs candidates",
    r"time tvm/template-tuned .* s a batch|tune tvm/template-tuned",
    times=MOMENTS,
    lab="kernels",
)
def tuning_worker_killed(trial: Trial) -> None:
    untuned(trial)
    trial.start()
    trial.one("helper popen_worker", 30).kill()
    trial.wait()


@fault(
    "a tuning is killed",
    "kill -9 of its process",
    r"Failed: tune tvm/template-tuned",
    times=3,
    lab="kernels",
    ends=False,
)
def tuning_killed(trial: Trial) -> None:
    untuned(trial)
    trial.start()
    trial.one("script tune_kernel.py", 40).kill()
    trial.wait()


@fault(
    "Snakemake is killed while a kernel is tuned",
    "kill -9; nothing goes on as an orphan",
    r"time tvm/template-tuned .* s a batch",
    times=3,
    lab="kernels",
    ends=False,
)
def snakemake_killed_while_tuning(trial: Trial) -> None:
    untuned(trial)
    trial.start()
    trial.one("script tune_kernel.py", 40)
    trial.one("snakemake").kill()
    trial.wait()


def untuned(trial: Trial) -> None:
    """Take the kernel away, and what was tuned for it."""
    for name in ("kernels", "tuning", "checks"):
        shutil.rmtree(trial.path(f"results/{name}"))
