"""Results that are packed, sent and reported elsewhere. The second machine is this one under another name."""

import json
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from measurement.record import write_sealed

from .conftest import Project

THERE = "other-8c-def456"
ALSO = ("--config", "also_report=[elsewhere]")


def change(folder: Path, pattern: str, how) -> None:
    """Change the JSON files of a folder, which nobody has packed then."""
    (folder / "pack.json").unlink(missing_ok=True)
    for file in folder.glob(pattern):
        content = json.loads(file.read_text())
        how(content)
        write_sealed(str(file), content)


def rename(folder: Path) -> None:
    """Make the results of a folder another machine's."""
    for file in folder.glob("manifests/*.json"):
        file.rename(file.with_name(f"{json.loads(file.read_text())['document']}-{THERE}.json"))
    # Sealed under their new names.
    change(folder, "manifests/*.json", lambda found: found.update(machine=THERE))


@pytest.fixture
def with_folder(project: Project) -> Project:
    """A project that makes pages, with a folder `elsewhere`: its own pack, from another machine."""
    archive = project.path("sent.zip")
    project.run([sys.executable, "scripts", "pack_results", "--output", str(archive)])
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(project.root)
    rename(project.path("sent").rename(project.path("elsewhere")))
    return Project(project.root)


def test_two_machines_in_one_report(with_folder: Project) -> None:
    project = with_folder
    (here,) = set(project.cells()["machine"]) - {THERE}
    before = project.measured()
    project.snakemake(*ALSO)
    page = project.path("results/cells.csv").read_text()
    assert page.count(f",{here},ok,") == page.count(f",{THERE},ok,") == 4
    assert project.stale(*ALSO) == set()
    # A changed folder is read again, and nothing is measured for it.
    change(project.path("elsewhere"), "records/**/*.json", lambda r: r["samples"].append(1000.0))
    change(project.path("elsewhere"), "manifests/*.json", lambda m: m.update(preliminary=True))
    project.snakemake(*ALSO)
    assert "333." in project.path("results/cells.csv").read_text()  # the mean of three batches
    assert project.measured() == before


def test_a_pack_continues_a_run(with_folder: Project) -> None:
    """Its records, in an empty results folder, are measurements like this folder's own."""
    packed, results = with_folder.path("elsewhere/records"), with_folder.path("results")
    (missing,) = packed.glob("plain/tiny-lm/plain/loop/forward-cpu-1.*.json")
    missing.unlink()
    shutil.rmtree(results)
    shutil.copytree(packed, results / "records")
    before = with_folder.measured()
    with_folder.snakemake()
    after = {name: found for name, found in with_folder.measured().items() if "records/" in name}
    assert before.items() <= after.items()
    assert [Path(name).name[:14] for name in after.keys() - before.keys()] == ["forward-cpu-1."]
