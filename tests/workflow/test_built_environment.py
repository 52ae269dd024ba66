"""Virtual environments that the workflow builds itself, from wheels made here: no network."""

import shutil
import sys
from pathlib import Path

import numpy

from measurement.record import read_json
from tests.unit.test_build_environment import write_wheel

from .conftest import Project
from .test_staleness import records, without_digest

ENVIRONMENT = """\
name: second
dependencies:
  - python ={python}
  - pip
  - pip:
      - --no-index
      - --find-links {wheels}
      - abacus==1.0  # as made here
"""


def test_build_that_fails_bump_and_rebuild(project: Project) -> None:
    """One environment's life. test_staleness.py puts a version back, too."""
    wheels, hidden = project.path("wheels"), project.path("hidden")
    lent = str(Path(numpy.__file__).parents[1])  # this interpreter's NumPy
    for version in ("1.0", "1.1"):
        write_wheel(hidden, "abacus", version, {"abacus.pth": lent + "\n"})
    wheels.mkdir()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    text = ENVIRONMENT.format(python=python, wheels=wheels)
    project.path("envs/second.yaml").write_text(text)
    named = {name: sys.executable for name in ("plain", "report")}
    folder = "a folder; touch owned $(touch owned)"  # whose name is no command
    project.configure("tiny.yaml", interpreters=named, environment_folder=folder)
    project.snakemake()
    assert statuses(project) == {"plain": {"ok"}, "second": {"failed"}}
    reason = project.cells().query("environment == 'second'")["reason"].iloc[0]
    assert reason.startswith("pip: ERROR: ") and "abacus==1.0" in reason

    # As after a network that was down: nothing has changed but that it now works.
    wheels.rmdir()
    hidden.rename(wheels)
    project.snakemake()
    assert statuses(project) == {"plain": {"ok"}, "second": {"ok"}}
    first = project.measured()

    project.edit("envs/second.yaml", "abacus==1.0", "abacus==1.1")
    assert project.stale_cells() == {"plain/other"}
    project.snakemake()
    assert statuses(project) == {"plain": {"ok"}, "second": {"ok"}}
    found = [read_json(str(file)) for file in project.listed("plain/other")]
    assert {record["environment"]["packages"]["abacus"] for record in found} == {"1.1"}
    second = project.measured()
    assert first.items() < second.items()

    # One that was deleted is built again when something is to run in it, and not before.
    shutil.rmtree(project.path(folder))
    assert project.stale() == set()
    project.snakemake("--config", "protocol={processes: 2}")
    third = project.measured()
    timed = {name for name in third if name.startswith("records/")}
    assert without_digest({name for name in timed if third[name] != second.get(name)}) == {
        *records("plain", "plain/loop", 2),
        *records("second", "plain/other", 2),
    }
    assert statuses(project) == {"plain": {"ok"}, "second": {"ok"}}
    assert set(project.cells().query("device == 'cpu'")["processes"]) == {2}
    assert not [*project.root.rglob("owned")]


def statuses(project: Project) -> dict[str, set[str]]:
    cells = project.cells().query("device == 'cpu'")
    return {name: set(rows["status"]) for name, rows in cells.groupby("environment")}
