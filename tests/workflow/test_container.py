"""The Dockerfile, as far as it can be checked without a container engine."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.scale import copy_repository

from .conftest import ROOT, SNAKEMAKE

SETUP = "make .venv/ready"


def instructions() -> list[tuple[str, str]]:
    """(keyword, the rest) of every instruction, in order."""
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line and not line.startswith("#")]


def commands() -> list[list[str]]:
    """The commands that it runs, as words."""
    run = " && ".join(rest for keyword, rest in instructions() if keyword == "RUN")
    return [shlex.split(command) for command in run.split("&&")]


def test_files_copied_before_the_setup_suffice_for_it(tmp_path: Path) -> None:
    before = instructions()[: instructions().index(("RUN", SETUP))]
    for source, target in (rest.split() for keyword, rest in before if keyword == "COPY"):
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, tmp_path / target)
    subprocess.run([*shlex.split(SETUP), "--dry-run"], cwd=tmp_path, check=True)


def test_environments_are_built_and_nothing_else(tmp_path: Path) -> None:
    copy_repository(tmp_path)  # where none is built yet
    (command,) = [words for words in commands() if words[0] == ".venv/bin/snakemake"]
    dry = [SNAKEMAKE, *command[1:], "--dry-run", "--forceall"]
    printed = subprocess.check_output(dry, cwd=tmp_path, text=True, stderr=subprocess.STDOUT)
    assert set(re.findall(r"^(?:local)?rule (\w+):", printed, re.M)) == {
        "build_environment",
        "build_environments",
    }
    built = set(re.findall(r"output: results/environments/([\w-]+)-\w+\.json", printed))
    assert {"corpus", "report", "pytorch", "tensorflow", "tvm", "onnx"} <= built


@pytest.mark.skipif(not shutil.which("apt-cache"), reason="no apt-cache on this machine")
def test_debian_has_the_packages() -> None:
    (words,) = [words for words in commands() if words[:2] == ["apt-get", "install"]]
    names = [word for word in words[2:] if not word.startswith("-")]
    found = subprocess.check_output(["apt-cache", "pkgnames"], text=True).splitlines()
    if "bash" not in found:
        pytest.skip("no package lists on this machine (apt-get update)")
    assert set(names) <= set(found)


def test_generated_files_stay_out_and_all_others_go_in() -> None:
    """Otherwise the records of a run in the image would call its commit changed."""

    def bare(name: str) -> set[str]:
        lines = (ROOT / name).read_text().splitlines()
        return {line.removeprefix("**/").rstrip("/") for line in lines}

    assert bare(".dockerignore") == bare(".gitignore")
