"""Virtual environments that the workflow builds itself, from wheels made here: no network."""

import shutil
import sys
from pathlib import Path

import numpy
import pytest

from measurement.record import read_json
from tests.unit.test_build_environment import write_wheel

from .conftest import Project

ENVIRONMENT = """\
name: second
dependencies:
  - python ={python}
  - pip
  - pip:
      - --no-index
      - --find-links {wheels}
      - abacus=={version}  # as made here
"""


@pytest.fixture
def wheels(project: Project) -> Path:
    """A folder with the wheel abacus 1.0, which lends this interpreter's NumPy to an environment."""
    folder = project.path("wheels")
    lent = str(Path(numpy.__file__).parents[1])
    for version in ("1.0", "1.1"):
        write_wheel(folder, "abacus", version, {"abacus.pth": lent + "\n"})
    return folder


def use(project: Project, wheels: Path, version: str) -> None:
    """Let the workflow build the environment `second` from these wheels."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    text = ENVIRONMENT.format(python=python, wheels=wheels, version=version)
    project.path("envs/second.yaml").write_text(text)
    named = {name: sys.executable for name in ("plain", "report")}
    project.configure("tiny.yaml", interpreters=named)


def statuses(project: Project) -> dict[str, set[str]]:
    cells = project.cells().query("device == 'cpu'")
    return {name: set(rows["status"]) for name, rows in cells.groupby("environment")}


def test_build_then_bump(project: Project, wheels: Path) -> None:
    """test_staleness.py puts a version back, too."""
    use(project, wheels, "1.0")
    project.snakemake()
    assert statuses(project) == {"plain": {"ok"}, "second": {"ok"}}
    first = project.measured()
    project.edit("envs/second.yaml", "abacus==1.0", "abacus==1.1")
    assert project.stale_cells() == {"plain/other"}
    project.snakemake()
    assert statuses(project) == {"plain": {"ok"}, "second": {"ok"}}
    assert versions(project) == {"1.1"}
    assert first.items() < project.measured().items()
    assert project.stale() == set()


def test_environment_that_was_deleted_is_built_again(project: Project, wheels: Path) -> None:
    """When something is to run in it, and not before. Nor is its folder's name a command."""
    use(project, wheels, "1.0")
    project.configure("tiny.yaml", environment_folder="a folder; touch owned $(touch owned)")
    project.snakemake()
    shutil.rmtree(project.path("a folder; touch owned $(touch owned)"))
    assert project.stale() == set()
    project.snakemake("--config", "protocol={processes: 2}")
    assert statuses(project) == {"plain": {"ok"}, "second": {"ok"}}
    assert set(project.cells().query("device == 'cpu'")["processes"]) == {2}
    assert not [*project.root.rglob("owned")]


def versions(project: Project) -> set[str]:
    """Of abacus, in the records that the manifest names."""
    records = [read_json(str(file)) for file in project.listed("plain/other")]
    return {record["environment"]["packages"]["abacus"] for record in records}


def test_failed_build_is_tried_again(project: Project, wheels: Path) -> None:
    """As after a network that was down: nothing has changed but that it now works."""
    hidden = wheels.with_name("hidden")
    use(project, wheels, "1.0")
    wheels.rename(hidden)
    wheels.mkdir()
    project.snakemake()
    assert statuses(project) == {"plain": {"ok"}, "second": {"failed"}}
    reason = project.cells().query("environment == 'second'")["reason"].iloc[0]
    assert reason.startswith("pip: ERROR: ") and "abacus==1.0" in reason

    wheels.rmdir()
    hidden.rename(wheels)
    project.snakemake()
    assert statuses(project) == {"plain": {"ok"}, "second": {"ok"}}
    assert project.stale() == set()
