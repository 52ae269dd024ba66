"""What a run says when something is not as it should be, and what `make plan` says."""

import socket
import subprocess
import sys

import pytest

from .conftest import SNAKEMAKE, Project


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("protocl={a: 1}", "top level: Additional properties are not allowed ('protocl'"),
        ("protocol={processes: many}", "protocol.processes: 'many' is not of type 'integer'"),
        ("documents=[none]", "documents: no config/documents/none.yaml; there are:"),
        ("interpreters={plain: /no/python}", "/no/python does not run as a Python interpreter"),
    ],
)
def test_wrong_setting_stops_with_one_line(finished: Project, setting: str, message: str) -> None:
    printed = finished.snakemake("-n", "--config", setting, ok=False)
    assert printed.count(message) == 1
    assert "Traceback" not in printed and "Exception" not in printed


def test_strings_of_the_command_line(finished: Project) -> None:
    """Values of --config arrive as strings; these are a list, an integer and a mapping."""
    settings = ["devices=[gpu]", 'corpus={stride: "2"}', "protocol={processes: 2}"]
    stale = finished.stale("--config", *settings)
    assert "records/plain/tiny-lm/plain/loop/training-gpu-2.json" in stale
    assert "corpus/corpus.json" in stale
    assert not any("-cpu" in name for name in stale)


def test_nothing_is_found_out_about_a_cluster_here(finished: Project) -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm")
    profile = ["--workflow-profile", "profiles/slurm", "--config", "devices=auto"]
    printed = finished.snakemake(*profile, ok=False)
    assert "  devices: a cluster's nodes are not asked" in printed
    assert "  protocol.threads: a cluster's nodes are not asked" in printed
    assert "Traceback" not in printed


def test_environment_file_that_is_none(project: Project) -> None:
    project.path("envs/plain.yaml").write_text("dependencies: [numpy]\n")
    printed = project.snakemake("-n", ok=False)
    assert "envs/plain.yaml is no environment file: it needs `dependencies:`" in printed
    assert "Traceback" not in printed


def test_no_corpus_and_no_stand_in(project: Project) -> None:
    with socket.socket() as free:  # nobody listens there once it is closed
        free.bind(("127.0.0.1", 0))
        mirror = f"http://127.0.0.1:{free.getsockname()[1]}/{{split}}"
    project.configure("tiny.yaml", corpus={"path": None, "mirrors": [mirror]})
    printed = project.snakemake(ok=False)
    assert "corpus: no mirror gave PTB: " in printed
    assert "Connection refused" in printed
    assert "Three ways out:" in printed
    assert "Traceback" not in printed


def test_plan(project: Project) -> None:
    command = [SNAKEMAKE, "--cores", "4", "--configfile", "tiny.yaml"]

    def plan() -> str:
        return subprocess.check_output(
            [sys.executable, "scripts/plan_run.py", *command], cwd=project.root, text=True
        )

    assert plan() == "Nothing is stale.\n"
    project.edit("envs/plain.yaml", "numpy==", "numpy==9")
    planned = plan()
    for line in (
        "checks/plain/tiny-lm/plain/loop/forward-cpu.json",
        "time_cell",
        "Checks, timings and training",
    ):
        assert line in planned
    assert "plain/other" not in planned
