"""A real SLURM cluster on this machine: nothing runs beside a clock, and a node may fail."""

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from . import slurm
from .conftest import SNAKEMAKE, Project, implementation, make_project, span

pytest.importorskip("snakemake_executor_plugin_slurm")
if reason := slurm.why_not():
    pytest.skip(reason, allow_module_level=True)

COMMAND = [
    *(SNAKEMAKE, "--configfile", "tiny.yaml", "--workflow-profile", "profiles/slurm"),
    *("--cores", "2", "--slurm-init-seconds-before-status-checks", "1"),
]


@dataclass
class Run:
    """What a run on the cluster left."""

    project: Project
    lost: str  # the timing job that its node's failure ended
    node_of: dict[str, str]  # by job
    restarts: dict[str, int]  # by job
    again: str  # what a further run would do


def small_matrix(project: Project) -> None:
    """A cell of some seconds on the CPU and one on the GPU, two processes each."""
    entries = [
        implementation("steady", "plain") | {"devices": ["cpu"]},
        implementation("loop", "plain") | {"devices": ["gpu"]},
    ]
    project.path("config/implementations.yaml").write_text(yaml.safe_dump(entries))
    project.path("config/claims.yaml").write_text("[]")
    project.configure("config/documents/tiny.yaml", phases=["forward"])
    protocol = {"processes": 2, "warmup_batches": 1, "timed_batches": 60, "timeout_s": 60}
    project.configure("tiny.yaml", protocol=protocol)
    project.configure(
        "profiles/slurm/config.yaml", config={"devices": "[cpu, gpu]", "protocol": "{threads: 1}"}
    )


def written(cluster_log: str) -> dict[int, str]:
    """{SLURM's job: its wildcards, joined by `_`}, of the jobs that Snakemake says it submitted."""
    return {
        int(job): wildcards
        for wildcards, job in re.findall(r"/slurm_logs/rule_\w+/(\S+)/(\d+)\.log\)", cluster_log)
    }


def name_of(record: dict) -> str:
    """A record's wildcards, joined likewise."""
    who = record["identity"]
    parts = [who[key] for key in ("environment", "benchmark", "implementation", "phase", "device")]
    parts += [str(who["process"])] if "process" in who else []
    return "_".join(parts).replace("/", "_")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A finished run, during which a node failed while it timed a cell, and returned."""
    project = make_project(tmp_path_factory.mktemp("slurm"))
    small_matrix(project)
    log = project.path("printed.txt")
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        slurm.Cluster(Path(folder)) as cluster,
        open(log, "w") as output,
    ):
        snakemake = subprocess.Popen(
            cluster.inside(COMMAND), cwd=project.root, stdout=output, stderr=output
        )
        try:
            lost = cluster.wait_until(
                lambda: timing(cluster, project, slurm.NODES[0]), "clock", 120
            )
            time.sleep(1)  # its clock runs for three
            cluster.kill(slurm.NODES[0])
            cluster.wait_until(
                lambda: cluster.node_states()[slurm.NODES[0]] == "down*", "lost node"
            )
            assert lost not in {name_of(record) for record in records(project)}
            cluster.start_node(slurm.NODES[0])
            assert snakemake.wait(timeout=180) == 0, log.read_text()
        finally:
            snakemake.kill()
        names = written(log.read_text())
        nodes = cluster.nodes_of_jobs()
        yield Run(
            project,
            lost,
            {names[job]: node for job, node in nodes.items()},
            {names[job]: cluster.restarts(job) for job in nodes},
            project.run(cluster.inside([*COMMAND, "--dry-run"])),
        )


def records(project: Project) -> list[dict]:
    """What all checks and timings left."""
    files = [*project.path("results").glob("checks/**/*.json")]
    files += project.path("results").glob("records/**/*.json")
    return [json.loads(file.read_text()) for file in files]


def timing(cluster: slurm.Cluster, project: Project, node: str) -> str | None:
    """The timing job on a node whose framework has been started, if there is one."""
    names = written(project.path("printed.txt").read_text())
    logs = project.path("results/logs/records").glob("**/*-cpu-*.txt")
    started = {log.relative_to(project.path("results/logs/records")) for log in logs}
    clocks = {
        str(path.with_suffix("")).replace("/", "_").replace("-cpu-", "_cpu_") for path in started
    }
    here = {names.get(job) for job, where in cluster.running() if where == node}
    return next(iter(here & clocks), None)


def test_run_finishes_although_a_node_failed(run: Run) -> None:
    cells = run.project.cells().set_index("device")
    assert set(cells.loc[["cpu"], "status"]) == {"ok"}
    assert set(cells.loc[["cpu"], "processes"]) == {2}
    assert run.restarts == {name: int(name == run.lost) for name in run.restarts}
    assert not run.project.path("results/failures").exists()
    assert "Nothing to be done" in run.again


def test_clock_has_its_node_for_itself(run: Run) -> None:
    found = records(run.project)
    assert len(found) == len(run.node_of) == 6
    timed = [record for record in found if record["kind"] == "time"]
    assert len(timed) == 4
    assert set(run.node_of.values()) == set(slurm.NODES)
    for clock in timed:
        start, end = span(clock)
        beside = [
            other
            for other in found
            if run.node_of[name_of(other)] == run.node_of[name_of(clock)]
            and span(other)[0] < end
            and start < span(other)[1]
        ]
        assert beside == [clock]


def test_gpu_cells_get_a_gpu(run: Run) -> None:
    nodes = {node for name, node in run.node_of.items() if "_gpu" in name}
    assert nodes == {slurm.GPU_NODE}
