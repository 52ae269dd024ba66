"""What `make` does before there is anything of ours to run."""

import os
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


def make(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
    environment = {name: os.environ[name] for name in os.environ if name != "PYTHON"}
    command = ["make", "--no-print-directory", *arguments, ".venv/ready"]
    return subprocess.run(
        command, cwd=folder, env=environment | variables, capture_output=True, text=True
    )


def other(folder: Path) -> str:
    """What says that it is a later Python."""
    python = folder / "other"
    python.write_text("#!/bin/sh\necho 3 99\n")
    python.chmod(0o700)
    return str(python)


def test_the_python_of_an_environment_that_is_there(folder: Path) -> None:
    assert make(folder).returncode == 0
    assert make(folder, f"PYTHON={sys.executable}").returncode == 0
    assert make(folder, PYTHON=sys.executable).returncode == 0


def test_another_python_is_not_passed_over(folder: Path) -> None:
    for done in (make(folder, f"PYTHON={other(folder)}"), make(folder, PYTHON=other(folder))):
        assert done.returncode and other(folder) in done.stdout
    assert (folder / ".venv/ready").exists()


def test_a_python_that_is_none(folder: Path) -> None:
    """The same is said of it whether there is an environment or not."""
    said = make(folder, "PYTHON=/nonexistent").stdout
    shutil.rmtree(folder / ".venv")
    done = make(folder, "PYTHON=/nonexistent")
    assert done.returncode and "/nonexistent" in done.stdout and said == done.stdout
