"""Processes that are killed or interrupted, at every level of a run."""

import os
import signal
import time

import psutil

from .trial import CHECK_S, CHILD_S, MEASURE, REPORT, RUN_S, TIMING_S, TUNING_S, Trial, fault

GOES_ON = r"Cells: 4 ok"  # what `make report` and `make measure` end with
STOPPED = r"^Stopped\. Finished results are kept; run the same command to continue\."
MOMENTS = 10
TUNED = ("kernels", "tuning", "checks")  # a kernel, and what was tuned for it


@fault(
    "a timing process is killed",
    r"time plain/faulty .*: failed: the process was ended by signal SIGKILL",
    times=MOMENTS,
    quick=True,
)
def timing_killed(trial: Trial) -> None:
    """kill -9 of the worker"""
    trial.run_and_kill("worker time", TIMING_S)


@fault(
    "a check's process is killed",
    r"check plain/faulty .*: failed: the process was ended by signal SIGKILL",
    times=MOMENTS,
)
def check_killed(trial: Trial) -> None:
    """kill -9 of the worker"""
    trial.run_and_kill("worker checking", CHECK_S)


@fault(
    "the process that watches over a timing is killed",
    r"Finished results are kept\. Fix the cause and run the same command",
    times=3,
    ends=None,
)
def supervisor_killed(trial: Trial) -> None:
    """kill -9 of the supervisor"""
    trial.run_and_kill("supervisor time", TIMING_S)


@fault("Snakemake is killed", GOES_ON, times=MOMENTS, quick=True, ends=False)
def snakemake_killed(trial: Trial) -> None:
    """kill -9 of Snakemake under make measure"""
    trial.command = MEASURE
    trial.run_and_kill("snakemake", RUN_S)
    assert not trial.path("results/failures").exists()  # of a cell


@fault("make report is paused", GOES_ON, quick=True)
def report_paused(trial: Trial) -> None:
    """SIGTSTP to its process, as by Ctrl-Z, and SIGCONT a second later, as by fg"""
    trial.timing_under_way(REPORT)
    report = trial.one("script run_workflow")
    report.send_signal(signal.SIGTSTP)
    time.sleep(1)
    states = {each.status() for each in [report, *report.children(recursive=True)]}
    assert states <= {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE}, states
    report.resume()


@fault("make report is killed", GOES_ON, times=3, ends=False)
def report_killed(trial: Trial) -> None:
    """kill -9 of its process"""
    trial.report_under_way()
    trial.running.kill()


@fault("make report is ended", STOPPED, times=2, ends=False)
def report_ended(trial: Trial) -> None:
    """SIGTERM to its process, as from a container's end"""
    trial.report_under_way()
    trial.running.terminate()


for name, how, *numbers in (
    ("the terminal is closed", "SIGHUP to all processes of the terminal", signal.SIGHUP),
    ("Ctrl-C", "SIGINT to all processes of the terminal: nothing is left", signal.SIGINT),
    ("Ctrl-C twice", "SIGINT to them within a second", signal.SIGINT, signal.SIGINT),
):

    def interrupted(trial: Trial, numbers: list[int] = numbers) -> None:
        temporary = trial.root.with_name(f"{trial.root.name}-temporary")
        temporary.mkdir()
        trial.environment["TMPDIR"] = str(temporary)
        trial.report_under_way()
        for number in numbers:
            os.killpg(trial.running.pid, number)
            time.sleep(trial.random.uniform(0, 1))
        trial.wait()
        left = list(temporary.rglob("*"))
        assert not left, left

    interrupted.__doc__ = how
    fault(name, STOPPED, times=3, ends=False)(interrupted)


@fault("a power failure", GOES_ON, times=3, ends=False)
def power_failure(trial: Trial) -> None:
    """kill -9 of all processes of the run at once, locks and half-written files left behind"""
    trial.report_under_way()
    trial.end_all()


@fault(
    "a child of a data-parallel row is killed",
    r"(check|time) pytorch/data-parallel .*: failed: ",
    times=MOMENTS,
    lab="parallel",
)
def child_killed(trial: Trial) -> None:
    """kill -9 of the second worker, in its check or under the clock"""
    checked_anew(trial)
    trial.run_and_kill("helper spawn_main", CHILD_S)


@fault(
    "a child of a data-parallel row stands still",
    r"(check|time) pytorch/data-parallel .*: timeout: not finished after 20 s",
    lab="parallel",
)
def child_stopped(trial: Trial) -> None:
    """SIGSTOP of the second worker for good, in its check or under the clock"""
    checked_anew(trial)
    trial.set_protocol(timeout_s=20)
    trial.start()
    trial.one("helper spawn_main", CHILD_S).suspend()


def checked_anew(trial: Trial) -> None:
    """Half of the trials meet the row while it is checked, the others while it is timed."""
    if trial.random.random() < 0.5:
        trial.forget("checks/**/data-parallel/*")


@fault(
    "a tuning worker is killed",
    r"time tvm/template-tuned .* s per batch|tune tvm/template-tuned",
    times=MOMENTS,
    lab="kernels",
    ends=None,
)
def tuning_worker_killed(trial: Trial) -> None:
    """kill -9 of a process that builds or runs candidates"""
    trial.forget(*TUNED)
    trial.run_and_kill("helper spawn_main", TUNING_S, survives=True)


@fault("a tuning is killed", r"Failed: tune tvm/template-tuned", times=2, lab="kernels", ends=False)
def tuning_killed(trial: Trial) -> None:
    """kill -9 of its process"""
    trial.forget(*TUNED)
    trial.run_and_kill("script tune_kernel", TUNING_S)


@fault(
    "Snakemake is killed while a kernel is tuned",
    r"time tvm/template-tuned .* s per batch",
    times=2,
    lab="kernels",
    ends=False,
)
def snakemake_killed_while_tuning(trial: Trial) -> None:
    """kill -9; nothing goes on as an orphan"""
    trial.forget(*TUNED)
    trial.start()
    trial.one("script tune_kernel", TUNING_S)
    trial.one("snakemake").kill()
