"""What a run says when something is not as it should be."""

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT, SNAKEMAKE, Project


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("protocl={a: 1}", "top level: Additional properties are not allowed ('protocl'"),
        ("interpreters={plain: /no/python}", "/no/python does not run as a Python interpreter"),
    ],
)
def test_wrong_setting_stops_with_one_line(finished: Project, setting: str, message: str) -> None:
    """By the schema and by what an interpreter answers; tests/unit/test_bad_configuration.py has the others."""
    printed = finished.snakemake("-n", "--config", setting, ok=False)
    assert printed.count(message) == 1
    assert "Traceback" not in printed and "Exception" not in printed


def test_nothing_is_found_out_about_a_cluster_here(finished: Project) -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm")
    profile = ["--workflow-profile", "profiles/slurm", "--config", "devices=auto"]
    printed = finished.snakemake(*profile, ok=False)
    assert "  devices: a cluster's nodes are not asked" in printed
    assert "  machine: name the type of node that measures" in printed
    assert "  protocol.threads: a cluster's nodes are not asked" in printed
    assert "Traceback" not in printed


def test_no_corpus_and_no_stand_in(project: Project) -> None:
    with socket.socket() as free:  # nobody listens there once it is closed
        free.bind(("127.0.0.1", 0))
        mirror = f"http://127.0.0.1:{free.getsockname()[1]}/{{split}}"
    project.configure("tiny.yaml", corpus={"path": None, "mirrors": [mirror]})
    printed = project.snakemake(ok=False)
    assert "corpus: no mirror has the Penn Treebank: " in printed
    assert "Connection refused" in printed
    assert "Three ways out:" in printed
    assert "Traceback" not in printed


def test_another_working_folder_is_refused(tmp_path: Path) -> None:
    printed = Project(ROOT).run([SNAKEMAKE, "-n", "--directory", tmp_path], ok=False)
    assert "without --directory" in printed and "Traceback" not in printed


def test_planning_needs_nothing_but_snakemake_and_writes_nothing(
    project: Project, snakemake_alone: Path
) -> None:
    """The README's `snakemake -n` after `pip install snakemake`, where nothing can be written but Snakemake's own folder."""
    shutil.rmtree(project.path("results"))
    command = ["env", f"PYTHONPATH={snakemake_alone}", sys.executable, "-S", "-m", "snakemake"]
    command += ["--cores", "2", "-n", "--configfile", "tiny.yaml"]
    cut_off = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*cut_off, "mount --bind /tmp /tmp"]).returncode
    ):
        project.run(command)
        pytest.skip("this system gives no mount namespaces (unshare --map-root-user --mount)")
    mounted = 'mount --bind . . && cd "$PWD" && {} mount -o remount,ro,bind . && exec "$@"'
    own = mounted.format("mount -t tmpfs none .snakemake &&")
    printed = project.run([*cut_off, own, "sh", *command])
    assert len(re.findall(r"time \S+: never done before", printed)) == 4
    printed = project.run([*cut_off, mounted.format(""), "sh", *command], ok=False)
    assert printed.count("cannot write .snakemake") == 1 and "Traceback" not in printed


def test_environments_are_built_apart(project: Project) -> None:
    """In a container's image: whatever the corpus will be, which is not fetched for it."""
    shutil.rmtree(project.path("results"))
    project.configure("tiny.yaml", corpus={"path": None, "mirrors": []})
    project.snakemake("--", "build_environments")
    built = {file.name.partition("-")[0] for file in project.path("results/environments").iterdir()}
    assert built == {"plain", "second", "corpus", "report"}


def test_a_home_that_cannot_be_written(project: Project) -> None:
    project.path("results/cells.csv").unlink()
    command = [SNAKEMAKE, "--cores", "2", "--configfile", "tiny.yaml"]
    project.run(["env", "-u", "XDG_CACHE_HOME", "HOME=/proc/none", *command])
    assert project.path("results/cells.csv").exists()
