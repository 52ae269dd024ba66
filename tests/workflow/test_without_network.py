"""A machine without network, with frameworks of its own: one interpreter for all environments, which has PyTorch."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.contract.running import interpreter

from .conftest import ROOT, Project, make_project

CUT_OFF = ["unshare", "--map-root-user", "--net"]
ROWS = ("pytorch/fine-grained", "tensorflow/graph-while", "tvm/template-tuned")
MEASURE = ["scripts", "run_workflow", "--configfile", "tiny.yaml", "--measure"]


@pytest.fixture(scope="module")
def cut_off(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with three frameworks' rows, of which the one interpreter that is named has one."""
    if not shutil.which("unshare") or subprocess.run([*CUT_OFF, "true"]).returncode:
        pytest.skip("this system gives no network namespaces (unshare --map-root-user --net)")
    project = make_project(tmp_path_factory.mktemp("cut-off"))
    known = yaml.safe_load((ROOT / "config/implementations.yaml").read_text())
    entries = [
        entry | {"benchmarks": ["tiny-lm"], "family": "operators"}
        for entry in known
        if entry["implementation"] in ROWS
    ]
    for entry in entries:
        entry.pop("instead_of", None)
        if isinstance(entry["environments"], dict):
            entry["environments"] = list(entry["environments"])
    project.implement(*entries)
    project.settings(interpreters={"*": str(Path(interpreter("pytorch")).absolute())})
    return project


def measure(project: Project, *more: str) -> str:
    return project.run([*CUT_OFF, sys.executable, *MEASURE, *more])


def statuses(project: Project) -> dict[str, set[tuple[str, str]]]:
    """{environment: its cells' statuses and reasons}, on the CPU."""
    cells = project.cells().query("device == 'cpu'")
    return {
        name: set(zip(rows["status"], rows["reason"], strict=True))
        for name, rows in cells.groupby("environment")
    }


def test_rows_of_what_is_there_are_measured(cut_off: Project) -> None:
    """A run that is stopped before it measures anything leaves a list all the same; the next one goes on."""
    assert "not-run" in measure(cut_off, "--limit", "0.1")
    assert {status for found in statuses(cut_off).values() for status, _ in found} == {"not-run"}
    printed = measure(cut_off)
    found = statuses(cut_off)
    python = cut_off.setting("interpreters")["*"]
    assert found["pytorch"] == {("ok", "")}
    for environment, package in (
        ("tensorflow", "tensorflow-cpu"),
        ("tensorflow-2018", "tensorflow"),
    ):
        ((status, reason),) = found[environment]
        assert status == "unsupported" and f"{python} has no {package}" in reason
        assert f"envs/{environment}.yaml" in reason
    ((status, reason),) = found["tvm"]  # no kernel was tuned or built
    assert status == "unsupported" and f"{python} has no apache-tvm" in reason
    ((status, reason),) = found["pytorch-2019"]
    assert status == "unsupported" and "torch 1.3.0 is pinned, " in reason
    assert "2 ok" in printed and not cut_off.path(".environments").exists()


def test_further_processes_are_packed_too(cut_off: Project) -> None:
    """Those of a run that asked for more, or made pages: its records are listed by one that asks for fewer at first."""
    cut_off.set_protocol(processes=4)
    measure(cut_off)
    before = cut_off.measured()
    cut_off.set_protocol(processes=3, most_processes=5)
    measure(cut_off)
    assert cut_off.measured() == before
    cells = cut_off.cells().query("status == 'ok'")
    assert cells["processes"].to_list() == [4, 4]
    (archive,) = cut_off.path("results").glob("results-*.zip")
    with zipfile.ZipFile(archive) as packed:
        files = {name.partition("/")[2] for name in packed.namelist()}
    listed = cut_off.listed("pytorch/fine-grained")
    assert {str(file.relative_to(cut_off.path("results"))) for file in listed} <= files
