"""Other people: their runs, their commands, and their edits while a run is at work."""

import os
import shutil
import signal
import sys
import time
from itertools import pairwise

from commands import prune_results
from measurement import machine_lock
from measurement.record import read_json
from tests.workflow.conftest import SNAKEMAKE, Project, turns

from .processes import GOES_ON
from .resources import need_root
from .snippets import at_step
from .trial import PATIENCE_S, REPORT, TIMING_S, Missed, Trial, fault

REFUSED = r"^Another run is at work in this folder \(process \d+.*\); wait for it, or stop it\.$"
STOPPED = r"^Stopped\."
PLAIN = (f'exec "{SNAKEMAKE}" --cores 2 --configfile tiny.yaml --', "{targets}")


def with_make(trial: Trial, target: str) -> str:
    """A command of the shell: `make` with the environment that these tests run in."""
    folder = trial.path(".venv")
    if not folder.exists():
        folder.symlink_to(sys.prefix)
    return f"exec make --no-print-directory --old-file=.venv/ready {target}"


def one_more(trial: Trial, command: str, *wrap: str) -> str:
    """What another command says while the trial's run measures; it must be refused, in one line of its own."""
    trial.one("worker time", TIMING_S)
    said = trial.run([*wrap, "bash", "-c", command], ok=False)
    lines = [line for line in said.splitlines() if not line.startswith("make:")]
    assert len(lines) == 1 and "unlock" not in said, said
    return said


@fault("make is killed", STOPPED, times=3, ends=None)
def make_killed(trial: Trial) -> None:
    """kill -9 of make itself, not of what it started"""
    trial.command = (with_make(trial, "report CONFIG=tiny.yaml"),)
    trial.start()
    trial.one("snakemake")
    time.sleep(trial.random.uniform(0, 5))
    trial.note()
    trial.running.kill()
    if trial.wait() == 0:
        raise Missed("make")
    deadline = time.monotonic() + PATIENCE_S
    while trial.processes() and time.monotonic() < deadline:  # they end by themselves
        time.sleep(0.1)
    trial.printed = trial.output.read_text()


@fault(
    "a second run in a container",
    r"^Another run is at work in this folder \(process \d+ in a container, .*\); wait for it",
    times=3,
)
def contained(trial: Trial) -> None:
    """make report under unshare --pid --mount-proc while another one measures"""
    need_root()
    trial.command = REPORT
    trial.start()
    trial.printed += one_more(trial, trial.shell(), "unshare", "--pid", "--fork", "--mount-proc")


@fault("snakemake alone beside a run", REFUSED, times=2)
def plain_beside(trial: Trial) -> None:
    """snakemake, without make, while make report measures"""
    trial.command = PLAIN
    plain = trial.shell()
    trial.timing_under_way(REPORT)
    said = trial.run(["bash", "-c", plain], ok=False)
    assert "unlock" not in said, said
    trial.printed += said


@fault("a run beside snakemake alone", REFUSED)
def beside_plain(trial: Trial) -> None:
    """make report while snakemake measures, without make"""
    trial.command = PLAIN
    trial.start()
    trial.printed += one_more(trial, REPORT[0])


@fault("other commands beside a run", REFUSED)
def commands_beside(trial: Trial) -> None:
    """make report, prune, pack, lock and bump while make report measures"""
    trial.command = REPORT
    at_step(trial, "time.sleep(15)")  # long enough for all of them
    trial.start()
    for target in (
        "report CONFIG=tiny.yaml",
        "prune YES=1",
        "pack",
        "lock ENVIRONMENT=plain RESOLVE=1",
        "bump PIN=numpy==99.0 CONFIG=tiny.yaml",
    ):
        trial.printed += one_more(trial, with_make(trial, target))


@fault(
    "make prune after a run that was stopped",
    r"^Every result is used by a configuration or a report\.$|^Deleted\.$",
    ends=False,
)
def pruned(trial: Trial) -> None:
    """make prune YES=1 where no manifest names the records of a configuration of one's own"""
    for file in prune_results.configurations():  # of documents that have no rows here
        if file != "config/config.yaml":
            trial.path(file).unlink(missing_ok=True)
    trial.configure("config/config.yaml", documents=["tiny"])
    trial.forget("manifests")
    trial.timing_under_way(REPORT)
    trial.running.kill()
    trial.wait()
    trial.end_all()
    command = with_make(trial, "prune YES=1 CONFIG=config/config.yaml")
    trial.printed += trial.run(["bash", "-c", command])


@fault(
    "two runs in two folders", r"waits for process \d+ in .*, which is measuring on this machine"
)
def two_folders(trial: Trial) -> None:
    """at once on one machine: no clock beside the other's"""
    file = str(trial.root.with_suffix(".lock"))
    trial.environment[machine_lock.VARIABLE] = file
    beside = trial.root.with_name(f"{trial.root.name}-beside")
    shutil.copytree(trial.root, beside)
    trial.start()
    command = ["env", f"{machine_lock.VARIABLE}={file}", "bash", "-c", trial.shell()]
    trial.printed += Project(beside).run(command)
    trial.wait()
    records = [
        read_json(str(record))
        for root in (trial.root, beside)
        for record in root.glob("results/records/**/faulty/*.json")
    ]
    for root in (trial.root, beside):  # a timing waits in its worker
        for log in root.glob("results/logs/records/**/*.txt"):
            trial.printed += log.read_text()
    shutil.rmtree(beside)
    assert len(records) == 4
    taken = sorted(turn for record in records for turn in turns(record))
    assert all(one[1] <= two[0] for one, two in pairwise(taken)), taken


@fault("Ctrl-C at once", STOPPED, times=5, ends=False)
def interrupted_early(trial: Trial) -> None:
    """SIGINT to all processes of the terminal within the first 0.3 s"""
    trial.command = REPORT
    trial.start()
    while not any("run_workflow" in word for each in trial.processes() for word in each.cmdline()):
        time.sleep(0.001)
    time.sleep(trial.random.uniform(0.03, 0.3))  # Python comes to our first line in 30 ms
    os.killpg(trial.running.pid, signal.SIGINT)


@fault("a configuration whose name has a space", GOES_ON)
def spaced(trial: Trial) -> None:
    """make report CONFIG='my lab.yaml'"""
    shutil.copy(trial.path("tiny.yaml"), trial.path("my lab.yaml"))
    trial.command = (with_make(trial, "report CONFIG='my lab.yaml'"),)


# Edits while a run is at work; those of an implementation are in identity.py.


@fault("the protocol is edited during a run", GOES_ON)
def protocol_edited(trial: Trial) -> None:
    """one batch more while a cell is timed"""
    trial.timing_under_way(REPORT)
    trial.set_protocol(rounds=13, most_rounds=13)


@fault("the configuration is broken during a run", r"tiny\.yaml|Cells: 4 ok", ends=None)
def configuration_broken(trial: Trial) -> None:
    """cut short while a cell is timed"""
    trial.timing_under_way(REPORT)
    file = trial.path("tiny.yaml")
    content = trial.keep(file)
    file.write_bytes(content[: trial.random.randrange(1, len(content) - 1)])


@fault(
    "a step is deleted during a run",
    r"Finished results are kept\. Fix the cause and run the same command",
    ends=False,
)
def step_deleted(trial: Trial) -> None:
    """rm scripts/steps/list_records.py while a cell is timed"""
    trial.timing_under_way(REPORT)
    file = trial.path("scripts/steps/list_records.py")
    trial.keep(file)
    file.unlink()


@fault("an environment's file is edited during a run", ends=None)
def pin_edited(trial: Trial) -> None:
    """another pin, which nothing has, while a cell is timed"""
    trial.timing_under_way()
    trial.change("envs/plain.yaml", "numpy==", "numpy==9")


@fault(
    "a finished record is deleted during a run",
    r"Cells: \d ok|Finished results are kept\.",
    ends=None,
)
def record_deleted(trial: Trial) -> None:
    """while a cell is timed"""
    trial.timing_under_way(REPORT)
    file = trial.any_of("records/**/other/*.json")
    file.unlink()
    trial.harms(file)


@fault(
    "a folder of results is touched during a run",
    r"s per batch|has older modification time .* than input",
    ends=None,
)
def touched(trial: Trial) -> None:
    """every file of results/ an hour ahead, while a cell is timed"""
    trial.timing_under_way()
    later = time.time() + 3600
    for file in trial.path("results").rglob("*.json"):
        os.utime(file, (later, later))
        trial.harms(file)
