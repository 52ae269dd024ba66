"""The plan of half an hour on a GPU (config/gpu.yaml), dry, and a run, where nvidia-smi only says that there is one."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from plan import configuration, matrix
from tests.contract.running import interpreter
from tests.scale import copy_repository

from .conftest import ROOT, SNAKEMAKE, Project, make_project

SAYS = """\
#!/bin/sh
case "$*" in
*driver_version*) echo 'NVIDIA H200, 580.95.05, 143771 MiB';;
*) echo 'NVIDIA H200, 1980, 3201, 1980, 43, 212.40, 700.00, 97, 5321, 0x0000000000000000';;
esac
"""


@pytest.fixture(autouse=True)
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "nvidia-smi"
    script.write_text(SAYS)
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")


def test_plan_of_half_an_hour(tmp_path: Path) -> None:
    """Every row that is chosen is checked and timed, on the GPU and by the interpreter that is there."""
    copy_repository(tmp_path / "copy")
    corpus = {"path": None, "stand_in": True}  # the small one has less than a batch
    asked = [f"corpus={json.dumps(corpus)}", f'interpreters={{"*": "{sys.executable}"}}']
    command = [SNAKEMAKE, "-n", "--cores", "16", "--configfile", "config/gpu.yaml"]
    printed = Project(tmp_path / "copy").run([*command, "--config", *asked, "--", "measure"])
    timed = re.findall(r"time (\S+/(?:forward|training)-(?:cpu|gpu))-\d+", printed)
    config = configuration.given(str(ROOT / "config/gpu.yaml"), [])
    cells = [cell.name for cell in matrix.cells(config)]
    assert sorted(timed) == sorted(3 * cells)
    assert {name.rpartition("-")[2] for name in cells} == {"gpu"}
    chosen = {cell.implementation for cell in matrix.cells(config)}
    for_gpus = {
        entry["implementation"]
        for entry in matrix.implementations()
        if entry["environments"] == ["pytorch"] and entry.get("devices") == ["gpu"]
    }
    for_gpus |= {"pytorch/cudnn", "tvm/dlight", "tvm/default-rules-gpu"}
    assert for_gpus <= chosen
    tuned = re.findall(r"tune (tvm/default-rules-gpu/\S+?)\.", printed)
    # One serves all lengths and depths of a batch and width; a single step is one of its own.
    assert len(tuned) == len(set(tuned)) == 5


def test_no_number_without_a_gpu(tmp_path: Path) -> None:
    """PyTorch's CPU build finds none: its rows say so, and the GPU that nvidia-smi names stands in the records."""
    project: Project = make_project(tmp_path / "project")
    names = ("pytorch/fine-grained-graph", "pytorch/cudnn")
    entries = [
        {key: value for key, value in matrix.implementation(name).items() if key != "instead_of"}
        | {"benchmarks": ["tiny-lm"], "environments": ["pytorch"], "family": "operators"}
        | {"devices": ["gpu"]}
        for name in names
    ]
    project.implement(*entries)
    python = str(Path(interpreter("pytorch")).absolute())
    project.settings(interpreters={"*": python}, devices="auto")
    project.targets = ("measure",)
    project.snakemake()
    records = list(project.path("results/records").rglob("*.json"))
    assert len(records) == 2 * len(names)
    for record in map(json.loads, (file.read_text() for file in records)):
        assert record["identity"]["device"] == "gpu" and "samples" not in record
        assert record["status"] == "unsupported"
        assert "cannot use a GPU here" in record["reason"]
        assert record["machine"]["gpus"][0]["name"] == "NVIDIA H200"
