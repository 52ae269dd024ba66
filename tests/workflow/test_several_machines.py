"""Results that are packed, sent and reported elsewhere. The second machine is this one under another name."""

import subprocess
import sys
import zipfile

import pytest

from tests.unit import hand_made

from .conftest import Project
from .test_staleness import AFTER

THERE = "other-8c-def456"
ALSO = ("--config", "also_report=[elsewhere]")


@pytest.fixture
def with_folder(project: Project) -> Project:
    """A project with a folder `elsewhere`: its own pack, from another machine."""
    done = subprocess.run(
        [sys.executable, "scripts/pack_results.py"],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=True,
    )
    archive = project.path(done.stdout.partition(":")[0])
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(project.root)
    folder = project.path(archive.stem).rename(project.path("elsewhere"))
    hand_made.repack(folder, lambda cell, record: record["machine"].update(machine=THERE))
    return project


def test_two_machines_in_one_report(with_folder: Project) -> None:
    project = with_folder
    (here,) = set(project.cells()["machine"])
    assert project.stale(*ALSO) == AFTER
    printed = project.snakemake(*ALSO)
    assert "Cells: 4 ok" in printed
    cells = project.cells().query("status == 'ok'").set_index("machine")
    assert len(cells.loc[here]) == len(cells.loc[THERE]) == 4
    assert list(cells.loc[here, "wall_s"]) == list(cells.loc[THERE, "wall_s"])
    page = project.path("results/report/tiny.md").read_text()
    for machine in (here, THERE):
        assert f"## All, {machine}" in page and f"now, {machine}" in page
    assert project.stale(*ALSO) == set()
    # A changed folder is read again, and nothing is measured for it.
    hand_made.repack(
        project.path("elsewhere"), lambda cell, record: record["samples"].append(1000.0)
    )
    assert project.stale(*ALSO) == AFTER
    project.snakemake(*ALSO)
    assert project.cells().set_index("machine").loc[THERE, "wall_s"].min() > 100


def test_a_folder_that_cannot_be_read_stops_the_run_at_once(with_folder: Project) -> None:
    def another_version(cell: object, record: dict) -> None:
        record["schema_version"] = 99

    hand_made.repack(with_folder.path("elsewhere"), another_version)
    printed = with_folder.snakemake(*ALSO, ok=False)
    assert "elsewhere/records.zip" in printed and "has record schema 99, this workflow" in printed
    assert "Traceback" not in printed
    printed = with_folder.snakemake("--config", "also_report=[nowhere]", ok=False)
    assert "nowhere is no results folder: it has no records.zip" in printed
