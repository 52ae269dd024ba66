"""What `make` does before there is anything of ours to run."""

import fcntl
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project whose environment is there already, of this Python."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "envs").mkdir()
    for name in ("workflow", "report"):
        shutil.copy(ROOT / f"envs/{name}.yaml", tmp_path / "envs")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    (tmp_path / ".venv/ready").touch()
    return tmp_path


def make(
    folder: Path, *arguments: str, target: str = ".venv/ready", **variables: str
) -> subprocess.CompletedProcess:
    given = ("PYTHON", "MAKEFLAGS")  # also by the make that runs the tests
    environment = {name: os.environ[name] for name in os.environ if name not in given}
    command = ["make", "--no-print-directory", *arguments, target]
    own = environment | variables
    return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True)


def other(folder: Path) -> str:
    """Another Python of the same version."""
    python = folder / "other"
    code = f"import sys; sys.executable = '{python}'; $2"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}"\n')
    python.chmod(0o700)
    return str(python)


def test_another_python_than_that_of_an_environment_is_not_passed_over(folder: Path) -> None:
    assert make(folder).returncode == 0
    for python, refused in ((sys.executable, False), (other(folder), True)):
        for done in (make(folder, f"PYTHON={python}"), make(folder, PYTHON=python)):
            assert bool(done.returncode) == refused and (python in done.stdout or not refused)
    assert (folder / ".venv/ready").exists()


def test_a_python_that_is_none_or_does_not_run(folder: Path) -> None:
    """Of one that is none the same is said whether there is an environment or not."""
    (folder / "broken").write_text("#!/bin/sh\nexit 127\n")
    (folder / "broken").chmod(0o700)
    said = make(folder, "PYTHON=/nonexistent").stdout
    shutil.rmtree(folder / ".venv")
    assert make(folder, "PYTHON=/nonexistent").stdout == said
    for python in ("/nonexistent", "./broken"):
        done = make(folder, f"PYTHON={python}")
        assert done.returncode and python in done.stdout and not (folder / ".venv").exists()


def test_a_folder_at_work_is_not_cleaned(folder: Path) -> None:
    (folder / "results").mkdir()
    with open(folder / "results/run.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = make(folder, target="clean")
        assert done.returncode and "run is at work" in done.stdout
        done = make(folder, "PYTHON=/nonexistent", target="clean")
        assert done.returncode and "/nonexistent" in done.stdout
        assert "A run is at work" not in done.stdout
    assert (folder / "results/run.lock").exists() and (folder / ".venv/ready").exists()
    assert make(folder, target="clean").returncode == 0
    assert not (folder / "results").exists()


@pytest.mark.parametrize(
    ("target", "settings"),
    [
        ("compare", ["A=a b", "B=c d", "OUTPUT=e f"]),
        ("export", ["FORMAT=pyperf", "A=a b", "OUTPUT=e f"]),
        ("lock", ["ENVIRONMENT=pytorch", "FROM=a b"]),
        ("pages", ["PACK=a b", "OUTPUT=e f"]),
    ],
)
def test_names_of_folders_have_blanks(folder: Path, target: str, settings: list[str]) -> None:
    words = shlex.split(make(folder, "--dry-run", *settings, target=target).stdout)
    assert {each.partition("=")[2] for each in settings} <= set(words)


@pytest.mark.parametrize("target", ["compare", "profile", "export", "lock", "pages", "accept"])
def test_what_a_target_needs_is_named_in_a_line(folder: Path, target: str) -> None:
    done = make(folder, target=target)
    assert done.returncode and "\n" not in done.stdout.strip()
    assert f"make {target} " in done.stdout
