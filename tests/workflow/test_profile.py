"""`make profile` of a small row: timed first where it was not, then sampled; what it found stands beside the record."""

import shutil
import subprocess
import sys
import tempfile

import pytest

from measurement.record import damage, read_json

from .conftest import Project


def allowed() -> bool:
    """Whether perf is here, and sees what a process does."""
    if not shutil.which("perf"):
        return False
    with tempfile.NamedTemporaryFile() as file:
        work = [sys.executable, "-c", "sum(range(10_000_000))"]
        command = ["perf", "record", "-q", "-e", "cpu-clock", "-o", file.name, "--", *work]
        if subprocess.run(command, capture_output=True).returncode:
            return False
        report = ["perf", "report", "-i", file.name, "--stdio", "-q"]
        return b"%" in subprocess.run(report, capture_output=True).stdout


def profile(project: Project, rows: str, ok: bool = True) -> str:
    command = [sys.executable, "scripts", "profile_rows", rows, "--configfile", "tiny.yaml"]
    return project.run([*command, "--seconds", "0.5"], ok)


def records(project: Project) -> set[str]:
    return {path.name for path in project.path("results/records").rglob("*.json")}


@pytest.mark.skipif(not allowed(), reason="perf is not here, or may not sample")
def test_a_row(project: Project) -> None:
    before = records(project)
    place = "plain/tiny-lm/plain/loop"
    (first,) = project.path(f"results/records/{place}").glob("forward-cpu-1.*.json")
    first.unlink()
    printed = profile(project, "plain/loop for forward")
    assert "plain/loop in plain, forward on tiny-lm" in printed and "%" in printed
    (file,) = project.path(f"results/profiles/{place}").iterdir()
    assert file.name == first.name and not damage(str(file))
    shares = read_json(str(file))["shares"]
    assert 0.5 < sum(row["share"] for row in shares) <= 1.01
    assert any("numpy" in row["library"] or "python" in row["library"] for row in shares)
    assert records(project) == before  # none of the process that was sampled


def test_a_row_that_is_none(project: Project) -> None:
    printed = profile(project, "plain/lopp", ok=False)
    said = "did you mean" if shutil.which("perf") else "apt install linux-perf"
    assert said in printed and "Traceback" not in printed
