"""`make report`: what it does before Snakemake starts, and what it says."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bytecode
from commands import run_workflow
from measurement.record import write_sealed
from plan import listing
from plan.matrix import UNUSED
from plan.planner import Plan
from snakemake_logger_plugin_cells import plain
from tests.conftest import ROOT
from tests.unit import planned


def test_bytecode_that_a_full_disk_has_cut_short_is_made_again(tmp_path: Path) -> None:
    """As CPython 3.11 leaves it. What a program says of it is a stack trace, at every run."""
    (tmp_path / "long_module.py").write_text(
        "".join(f"name_{number} = {number}.5\n" for number in range(600))
    )

    def imported() -> int:
        program = [sys.executable, "-c", "import long_module"]
        written = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        return subprocess.run(program, cwd=tmp_path, env=written, capture_output=True).returncode

    assert imported() == 0
    (cached,) = tmp_path.rglob("*.pyc")
    whole = cached.read_bytes()
    assert len(whole) > bytecode.PAGE and len(whole) % bytecode.PAGE
    cached.write_bytes(whole[: bytecode.PAGE])
    assert imported() == 1
    bytecode.sweep(tmp_path)
    assert imported() == 0 and cached.read_bytes() == whole
    bytecode.sweep(tmp_path)
    assert cached.exists()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_left_of_snakemakes_errors() -> None:
    """What the system refuses it in one line; of a job that failed nothing."""
    trace = 'Traceback (most recent call last):\n  File "lock.py"\n%s\n'
    said = plain(trace % "OSError: [Errno 28] No space left on device: '.snakemake/locks/0'")
    assert said.startswith("cannot write: [Errno 28] No space left on device: '.snakemake/locks/0'")
    assert len(said.splitlines()) == 1
    for other in (trace % "ValueError: 3", "OSError: in a job"):
        assert plain(other) == other
    # `Failed: ...` follows, with the end of its log.
    said = 'RuleException:\nCalledProcessError in file "check.smk", line 27:\nCommand \'{"long": 1}\' returned 1.'
    assert plain(said) == ""


@pytest.mark.skipif(sys.platform != "linux", reason="adopts nothing")
def test_adopted_processes_that_end_are_let_go() -> None:
    """In a process of its own, as adopting cannot be undone."""
    program = """
import subprocess, time, psutil
from commands.run_workflow import reaping
from measurement import processes
processes.adopt()
waited_for = subprocess.Popen(["sh", "-c", "sleep 0.1 & sleep 0.1 & exit 3"])
with reaping(waited_for.pid):
    while psutil.Process().children(recursive=True):
        waited_for.poll()
        time.sleep(0.02)
assert waited_for.returncode == 3
"""
    paths = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    subprocess.run([sys.executable, "-c", program], check=True, timeout=20, env=paths)


def test_a_look_is_left_out_where_most_is_there(tmp_path: Path, monkeypatch) -> None:
    planned.empty_project(tmp_path, monkeypatch)
    config = planned.config(documents=["cudnn-lstm-ptb"], preliminary=True)
    assert run_workflow.worth_a_look(config)
    timings = Plan(config).timings("cudnn-lstm-ptb")
    for job in timings[1:]:  # one row is new
        write_sealed(job.path, {"status": "ok"})
    assert not run_workflow.worth_a_look(config)
    assert run_workflow.worth_a_look(config | {"machine": "there"})


def test_a_run_counts_what_it_was_asked_for(folder: Path) -> None:
    rows = [("unsupported", "needs g++", "cpu"), ("unsupported", UNUSED["gpu"], "gpu")]
    rows += [("not-run", "left out", "cpu"), ("not-run", listing.LATER, "cpu")]
    Path("results").mkdir()
    with open("results/cells.csv", "w") as table:
        csv.writer(table).writerows([("status", "reason", "device"), *rows])
    first = run_workflow.closing().splitlines()[0]
    assert re.findall(r"(\d+) ([\w-]+)", first) == [("1", "unsupported"), ("1", "not-run")]


def test_stages() -> None:
    """The first document alone, all, and the rest; of one document there is one look."""
    _, settings = zip(*run_workflow.stages(["one", "two"]), strict=True)
    assert settings == (["preliminary=true", "documents=[one]"], ["preliminary=true"], [])
    assert len(list(run_workflow.stages(["one"]))) == 2
