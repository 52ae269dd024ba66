"""What a killed run leaves behind: nothing that runs, and nothing in the way of the next one."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
import yaml

from .conftest import SNAKEMAKE, Project, implementation

SLOW = """\
import os
import time

from .model import Model


class Slow(Model):
    def step(self, inputs, targets):
        if os.path.exists("slow"):
            time.sleep(30)
        return Model.step(self, inputs, targets)


def build(workload, weights, device, phase):
    return Slow(workload, weights, device, phase)
"""


def measuring(project: Project) -> list[psutil.Process]:
    """The processes that measure in a project's folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = " ".join(process.info["cmdline"] or [])
        if process.info["cwd"] == str(project.root) and "measure" in words:
            found.append(process)
    return found


def wait_for(condition, seconds: float) -> bool:
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.2)
    return False


@pytest.fixture
def slow(project: Project) -> Project:
    """A project with an implementation whose batches take half a minute once its file `slow` exists."""
    project.path("scripts/implementations/plain/slow.py").write_text(SLOW)
    entries = [implementation("slow", "plain")]
    project.path("config/implementations.yaml").write_text(yaml.safe_dump(entries))
    project.path("config/claims.yaml").write_text("[]")
    return project


def test_killed_in_the_middle_of_a_timing(slow: Project) -> None:
    slow.path("slow").touch()
    command = [SNAKEMAKE, "--cores", "2", "--configfile", "tiny.yaml", *slow.options]
    run = subprocess.Popen(
        command, cwd=slow.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert wait_for(lambda: measuring(slow), 60)
    time.sleep(2)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    assert wait_for(lambda: not measuring(slow), 10), "what was measured goes on as an orphan"
    slow.path("slow").unlink()
    done = slow.run([sys.executable, "scripts/run_workflow.py", "--configfile", "tiny.yaml"])
    assert "LockException" not in done
    assert set(slow.cells().query("device == 'cpu'")["status"]) == {"ok"}
