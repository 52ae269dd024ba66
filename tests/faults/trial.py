"""One fault in one run of the workflow: what it is, the run that meets it, and what must hold afterwards.

A fault is a function of a `Trial`, in a file of its group. It starts the run (`start`) and does its harm, for real, at a
moment drawn at random; or it does its harm first, and the run is started when it returns. What must hold for all faults is
checked in verdict.py.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import fastjsonschema
import psutil

from plan import configuration
from tests.workflow.conftest import SNAKEMAKE, Project

PATIENCE_S = 900  # a run of these projects takes ten seconds, with a tuning in it a minute
PAUSE_S = 0.02  # between two looks at the processes
# How long these take in the projects here, about.
TIMING_S, CHECK_S, CHILD_S, TUNING_S = 1.5, 0.5, 6, 8
RUN_S = 5  # of `make report`, once Snakemake has been started
# What every `make report` does before and when it starts Snakemake, but for its pages, which take as long as all else.
ALONE = (
    "import sys; sys.path.insert(0, 'scripts'); import bytecode; from commands import run_workflow; run_workflow.require_alone(); "
    "run_workflow.require_writable()"
)
SNAKEMAKE_ALONE = (
    *(
        f'"{sys.executable}" -c "{ALONE}" &&',
        f'exec env PYTHONPATH=scripts "{SNAKEMAKE}" --cores 2 --rerun-incomplete',
    ),
    *("--logger cells --configfile tiny.yaml --", "{targets}"),
)
REPORT = (f'exec "{sys.executable}" scripts run_workflow --configfile tiny.yaml',)
MEASURE = (*REPORT, "--measure")
HEARS = ("env", "--default-signal=INT,HUP")  # also below nohup, or in the background of a script
RECORDS = ("records", "checks", "convergence")
TOLERANCE = 1e-4  # of what a check compares
TIMED = r"time plain/faulty .* s per batch"  # said at last of the cell that is to be measured


class Missed(Exception):
    """The run had ended before its fault came."""


@dataclass(frozen=True)
class Fault:
    """group, name and `how` are columns of the table; `says`: the message, a regular expression of one line; times: how
    often the whole suite tries it; lab: which project it harms; ends: whether the run that meets it ends well (None:
    either way)."""

    harm: Callable[["Trial"], None]
    group: str
    name: str
    how: str
    says: str
    times: int = 1
    quick: bool = False
    lab: str = "cells"
    ends: bool | None = True


FAULTS: list[Fault] = []


def fault(name: str, says: str = TIMED, **more: object) -> Callable:
    """Add a function to the faults of its file's group; its docstring is the column `how`."""

    def add(harm: Callable[["Trial"], None]) -> Callable[["Trial"], None]:
        group = harm.__module__.rpartition(".")[2]
        FAULTS.append(Fault(harm, group, name, harm.__doc__, says, **more))  # type: ignore
        return harm

    return add


@dataclass
class Trial(Project):
    """A half-measured copy of a project, and the run in it that meets a fault."""

    random: Random = field(default_factory=Random)
    command: tuple[str, ...] = SNAKEMAKE_ALONE  # of the shell, here and in the next run
    environment: dict[str, str] = field(default_factory=dict)
    wrap: tuple[str, ...] = ()  # what the shell of that run is started by
    before: str = ""  # what the shell does first in the run that meets the fault
    undo: ExitStack = field(default_factory=ExitStack)  # what is mended before the next run
    end: ExitStack = field(default_factory=ExitStack)  # what is taken down after it
    harmed: set[str] = field(default_factory=set)  # files below results/, by the fault itself
    most_s: float | None = None  # no batch takes longer that was measured of what it should be
    expected: dict[str, bytes] = field(default_factory=dict)  # what files made of others must be
    whole_project: Path = Path()  # what this is a copy of
    number: int = 0  # of the fault's trials
    running: subprocess.Popen | None = None
    ended: bool = False
    finished: dict[str, tuple] = field(default_factory=dict)
    printed: str = ""

    def shell(self, before: str = "") -> str:
        return before + " ".join(self.command).format(targets=" ".join(self.targets))

    @property
    def output(self) -> Path:
        """What the run prints."""
        return self.root.with_name(f"{self.root.name}.txt")

    def start(self) -> None:
        """Start the run, in a session of its own."""
        self.finished = self.whole()
        with open(self.output, "w") as stream:
            self.running = subprocess.Popen(
                [*self.wrap, *HEARS, "bash", "-c", self.shell(self.before)],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, "COLUMNS": "200", **self.environment},
                start_new_session=True,
            )

    def note(self) -> None:
        """What is finished at this moment stays so."""
        self.finished |= self.whole()

    def wait(self) -> int:
        """Wait for the end of the run; its exit status."""
        try:
            self.running.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.end_all()
        self.ended = True
        self.printed += self.output.read_text(errors="replace")
        return self.running.returncode

    def run_through(self) -> None:
        """What of a run the fault has not done."""
        if not self.running:
            self.start()
        if not self.ended:
            self.wait()

    def next_of(self, *ways):
        """One of the ways to do harm: each trial of a fault does it in another one."""
        return ways[self.number % len(ways)]

    def run_and_kill(self, role: str, span_s: float = 0.0, survives: bool = False) -> None:
        """A run of which one process is killed, as `one` finds it. Unless the run is to survive that, one that has all
        cells has not met its fault, as the process had done its part."""
        self.start()
        self.one(role, span_s).kill()
        ended = self.wait()
        if ended == 0 and not survives and self.ok_cells() == self.whole_cells():
            raise Missed(role)

    def report_under_way(self) -> None:
        """Start `make report`, and return at a random moment of its run."""
        self.command = REPORT
        self.start()
        self.one("snakemake")
        time.sleep(self.random.uniform(0, RUN_S))
        self.note()

    def timing_under_way(self, command: tuple[str, ...] | None = None) -> None:
        """Start the run, by a command if one is given, and return at a random moment of its first timing."""
        self.command = command or self.command
        self.start()
        self.one("worker time", TIMING_S)

    def end_all(self) -> None:
        """Nothing of this project runs any more, as after a power failure."""
        for _ in range(2):  # what is started meanwhile too
            for process in self.processes():
                process.kill()
        if self.running:  # psutil would take its exit status away
            self.running.wait(PATIENCE_S)
        psutil.wait_procs(self.processes(), 10)

    def processes(self) -> list[psutil.Process]:
        """All that run in this project's folder."""
        found = []
        for process in psutil.process_iter(["cwd", "status"]):
            here = process.info["cwd"] == str(self.root)
            if here and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
        return found

    def of(self, role: str) -> list[psutil.Process]:
        """Those of a role: `snakemake`, `supervisor KIND`, `worker KIND`, `script NAME`, or `helper TEXT`, a process
        below a worker or a script whose command has a text."""
        what, _, which = role.partition(" ")
        found = []
        for process in self.processes():
            try:
                words = process.cmdline()
                script = Path(words[1]).name if len(words) > 1 else ""
                if script == "scripts":  # python scripts NAME ...
                    script, words = words[2], words[1:]
                if what == "snakemake":
                    fits = script == "snakemake"
                elif what == "supervisor":
                    fits = script == "measure_cell" and f'"kind": "{which}"' in words[3]
                elif what == "worker":
                    fits = "measurement.worker" in words[:3]
                    fits = fits and f'"kind": "{which}"' in process.parent().cmdline()[4]
                elif what == "script":
                    fits = script == which
                else:
                    above = [each.cmdline() for each in process.parents()[:4]]
                    fits = which in " ".join(words) and any(
                        "measurement.worker" in each or "tune_kernel" in each for each in above
                    )
            except (psutil.Error, AttributeError, IndexError):
                continue
            if fits:
                found.append(process)
        return found

    def one(self, role: str, span_s: float = 0.0) -> psutil.Process:
        """A process of a role, at a random moment of its first `span_s` seconds or of another one's; then what is
        finished is noted."""
        while self.running.poll() is None:
            if found := self.of(role):
                time.sleep(self.random.uniform(0, span_s))
                span_s /= 2
                alive = [process for process in self.of(role) if process in found]
                if alive:
                    self.note()
                    return self.random.choice(alive)
            time.sleep(PAUSE_S)
        raise Missed(role)

    def any_of(self, pattern: str) -> Path:
        """One of the finished results, at random."""
        found = sorted(self.path("results").glob(pattern))
        found = [each for each in found if not each.name.startswith(".")]  # Snakemake's own
        assert found, f"no {pattern} in {self.root}"
        return self.random.choice(found)

    def keep(self, file: Path) -> bytes:
        """What stands in a file stands there again once the fault is mended; it is returned."""
        content = file.read_bytes()
        self.undo.callback(file.write_bytes, content)
        return content

    def change(self, name: str, old: str, new: str) -> None:
        """Change the text of a file until the fault is mended."""
        self.keep(self.path(name))
        self.edit(name, old, new)

    def settings(self, **changes: object) -> None:
        """Change settings until the fault is mended."""
        self.keep(self.path("tiny.yaml"))
        super().settings(**changes)

    def first_checkpoint(self) -> Path:
        """Wait until a training run has left one."""
        while self.running.poll() is None:
            if found := next(self.path("results/convergence").rglob("*.npz"), None):
                self.note()
                return found
            time.sleep(PAUSE_S)
        raise Missed("checkpoint")

    def forget(self, *patterns: str) -> None:
        """Delete results, files or whole folders, which the run is to make anew."""
        for pattern in patterns:
            for path in list(self.root.glob(f"results/{pattern}")):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def complete(self) -> None:
        """Give the copy back what was taken away for the run."""
        shutil.copytree(self.whole_project / "results", self.path("results"), dirs_exist_ok=True)

    def expect_derived(self) -> None:
        """What is made of records is after the run as it is now."""
        self.expected = self.derived()

    def derived(self) -> dict[str, bytes]:
        """{file: content} of all that is made of records."""
        folder = self.path("results")
        kinds = [folder / name for name in ("manifests", "documents", "report")]
        files = [file for kind in kinds for file in kind.rglob("*") if file.is_file()]
        files += [folder / name for name in ("cells.csv", "records.zip")]
        return {
            str(file.relative_to(folder)): file.read_bytes()
            for file in files
            if file.exists() and file.name != ".snakemake_timestamp"
        }

    def harm(self, file: Path, content: bytes) -> None:
        """Damage a file below results/ (or elsewhere)."""
        file.write_bytes(content)
        self.harms(file)

    def harms(self, file: Path) -> None:
        """Note it. What lies in one folder of the corpus is one result."""
        if file.is_relative_to(self.path("results")):
            files = file.parent.iterdir() if "/results/corpus/" in str(file) else [file]
            self.harmed.update(str(each.relative_to(self.path("results"))) for each in files)

    def whole(self) -> dict[str, tuple]:
        """{name: inode, time, content} of the finished results."""
        found = {}
        for name in self.measured_files():
            file = self.path("results") / name
            try:
                content, stat = file.read_bytes(), file.stat()
                if file.suffix == ".json" and json.loads(content).get("status", "ok") != "ok":
                    continue  # is tried again
            except (OSError, ValueError):
                continue  # gone meanwhile, or what the fault has damaged
            found[name] = (stat.st_ino, stat.st_mtime_ns, content)
        return found

    def measured_files(self) -> Iterator[str]:
        folder = self.path("results")
        for kind in ("checks", "records", "convergence", "kernels", "environments", "corpus"):
            for file in (folder / kind).rglob("*"):
                if file.suffix in (".json", ".npy", ".so", ".txt") and file.is_file():
                    yield str(file.relative_to(folder))

    def lost(self) -> list[str]:
        """Finished results that were touched."""
        now = self.whole()
        return [
            name
            for name, kept in self.finished.items()
            if name not in self.harmed and now.get(name) != kept
        ]

    def wrong(self, right: dict[tuple, dict]) -> list[str]:
        """Files that a reader would take for results and that are damaged, and records that are ok and differ from those
        of a run without fault (`essences`)."""
        found = []
        now = self.derived() if self.expected else {}
        for name in sorted(now.keys() | self.expected):
            if now.get(name) != self.expected.get(name):
                found.append(f"{name}: not as it was made of the same records")
        validate = fastjsonschema.compile(configuration.schema("record"))
        for kind in (*RECORDS, "environments", "tuning", "kernels", "manifests"):
            for file in self.path(f"results/{kind}").rglob("*.json"):
                name = str(file.relative_to(self.path("results")))
                if "database" in name:
                    continue
                try:
                    record = json.loads(file.read_bytes())
                    if kind in RECORDS:
                        validate(record)
                except (ValueError, fastjsonschema.JsonSchemaValueException) as error:
                    found.append(f"{name}: {error}")
                    continue
                if kind in RECORDS and record["status"] == "ok":
                    key, essence = of_record(record)
                    if not same(essence, right.get(key)):
                        found.append(f"{name}: other content than without fault")
                    if self.most_s and max(record.get("samples", [0])) > self.most_s:
                        found.append(f"{name}: measured of something else, {record['samples']}")
        return found

    def essences(self) -> dict[tuple, dict]:
        """{cell: what its record says whenever it is measured} of the records that are ok."""
        found = {}
        for kind in RECORDS:
            for file in self.path(f"results/{kind}").rglob("*.json"):
                record = json.loads(file.read_bytes())
                if record["status"] == "ok":
                    key, essence = of_record(record)
                    found[key] = essence
        return found

    def whole_cells(self) -> set[tuple]:
        return Trial(self.whole_project).ok_cells()

    def ok_cells(self) -> set[tuple]:
        """The cells of the manifests that are ok, with how many processes."""
        table = self.cells()
        keys = ["benchmark", "implementation", "environment", "phase", "device", "processes"]
        return set(table[table["status"] == "ok"][keys].itertuples(index=False, name=None))


def of_record(record: dict) -> tuple[tuple, dict]:
    """(which cell and process, what does not differ from run to run) of a record."""
    identity = {key: value for key, value in record["identity"].items() if key != "process"}
    key = (record["kind"], *sorted(identity.items()))
    essence = {name: record.get(name) for name in ("benchmark", "protocol", "threads", "seed")}
    errors = record.get("errors") or record["check"]["errors"]
    # What frameworks round differs with the threads' order, and a timing goes on for its least seconds.
    essence["errors"] = {name: value <= TOLERANCE for name, value in errors.items()}
    # Disturbed ones are looked again.
    essence["looks"] = len(record.get("looks", ())) >= record["protocol"].get("rounds", 0)
    essence["weights"] = record.get("weights_sha256")
    essence["curve"] = [
        {name: value for name, value in point.items() if name != "train_s"}
        for point in record.get("curve", ())
    ]
    return key, essence


def same(one: dict, right: dict | None) -> bool:
    """Whether two records say the same; of another protocol, all but what that decides."""
    if right and one["protocol"] != right["protocol"]:
        one, right = ({**each, "protocol": None, "looks": None} for each in (one, right))
    return one == right
