"""A real SLURM cluster on this machine: nothing runs beside a clock, and a node may fail."""

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from measurement.record import read_json

from . import slurm
from .conftest import SNAKEMAKE, Project, implementation, make_project, manifest, span, undisturbed
from .test_statuses import FAILING

pytest.importorskip("snakemake_executor_plugin_slurm")
if reason := slurm.why_not():
    pytest.skip(reason, allow_module_level=True)

UNEVEN = """\
import os
import time

from .model import Model


class Uneven(Model):
    def step(self, inputs, targets):
        time.sleep(self.pause_s)
        return Model.step(self, inputs, targets)


def build(workload, weights, device, phase):
    with open("processes.txt", "a") as stream:
        stream.write(".")
    model = Uneven(workload, weights, device, phase)
    model.pause_s = 0.03 + os.path.getsize("processes.txt") % 3 * 0.01
    return model
"""
COMMAND = [
    *(SNAKEMAKE, "--configfile", "tiny.yaml", "--workflow-profile", "profiles/slurm"),
    *("--cores", "2", "--slurm-init-seconds-before-status-checks", "1"),
]
TARGET = ("--", manifest("node"))
ALONE = ("--group-components", "turns=1")  # each timing is a job of the cluster


@dataclass
class Run:
    """What a run on the cluster left."""

    project: Project
    lost: str  # the timing job that its node's failure ended
    node_of: dict[str, str]  # by job
    restarts: dict[str, int]  # by job
    again: str  # what a further run would do


def small_matrix(project: Project) -> None:
    """A cell of some seconds on the CPU with three processes, more if its interval asks for them; one on the GPU; and
    one whose check fails."""
    undisturbed(project)
    entries = [
        implementation("uneven", "plain") | {"devices": ["cpu"]},
        implementation("loop", "plain") | {"devices": ["gpu"]},
        implementation("failing", "plain") | {"devices": ["cpu"]},
    ]
    styles = project.path("scripts/implementations/plain")
    (styles / "uneven.py").write_text(UNEVEN)
    (styles / "failing.py").write_text(FAILING)
    project.implement(*entries)
    project.configure("config/documents/tiny.yaml", phases=["forward"])
    project.set_protocol(processes=3, target_interval=0.04, most_processes=6, further_s=None)
    project.set_protocol(rounds=3, most_rounds=3, look_s=1)
    settings = {"machine": "node", "devices": "[cpu, gpu]", "protocol": "{threads: 1}"}
    project.configure("profiles/slurm/config.yaml", config=settings)


def written(cluster_log: str) -> dict[int, str]:
    """{SLURM's job: its wildcards, joined by `_`}, of the jobs that Snakemake says it submitted."""
    return {
        int(job): wildcards
        for wildcards, job in re.findall(r"/slurm_logs/rule_\w+/(\S+)/(\d+)\.log\)", cluster_log)
    }


def name_of(path: Path) -> str:
    """The wildcards, joined likewise, of the job whose result has this path below its folder."""
    return str(path.with_suffix("")).replace("/", "_").replace(".", "_")


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
            cluster.inside([*COMMAND, *ALONE, *TARGET]),
            cwd=project.root,
            stdout=output,
            stderr=output,
        )
        try:
            lost = cluster.wait_until(
                lambda: timing(cluster, project, slurm.NODES[0]), "clock", 600
            )
            time.sleep(1)  # its clock runs for three
            cluster.kill(slurm.NODES[0])
            cluster.wait_until(
                lambda: cluster.node_states()[slurm.NODES[0]] == "down*", "lost node"
            )
            assert lost not in below(project, "records")
            cluster.start_node(slurm.NODES[0])
            assert snakemake.wait(timeout=900) == 0, log.read_text()
        finally:
            snakemake.kill()
        names = written(log.read_text())
        nodes = cluster.nodes_of_jobs()
        yield Run(
            project,
            lost,
            {names[job]: node for job, node in nodes.items()},
            {names[job]: cluster.restarts(job) for job in nodes},
            project.run(cluster.inside([*COMMAND, "--dry-run", *TARGET])),
        )


def below(project: Project, folder: str, kind: str = "json") -> dict[str, Path]:
    """{wildcards of the job: its file} of all that jobs left in a folder of results/."""
    root = project.path(f"results/{folder}")
    return {name_of(file.relative_to(root)): file for file in root.rglob(f"*.{kind}")}


def timing(cluster: slurm.Cluster, project: Project, node: str) -> str | None:
    """The timing job on a node whose framework has been started, if there is one."""
    names = written(project.path("printed.txt").read_text())
    started = {name for name in below(project, "logs/records", "txt") if "uneven" in name}
    here = {names.get(job) for job, where in cluster.running() if where == node}
    return next(iter(here & started), None)


def test_run_finishes_although_a_node_failed(run: Run) -> None:
    cells = run.project.cells().set_index("implementation")
    assert cells.loc["plain/uneven", "status"] == "ok"
    # Further processes are planned after the others, and a node knows of them too.
    assert cells.loc["plain/uneven", "processes"] == 6
    assert run.restarts == {name: int(name == run.lost) for name in run.restarts}
    records = below(run.project, "records")
    assert run.lost in records
    (manifest,) = run.project.path("results/manifests").glob("*.json")
    assert manifest.name == "tiny-node.json"  # of the type of node
    assert {read_json(str(file))["parts"]["machine"] for file in records.values()} == {"node"}


def test_failed_check_ends_no_run(run: Run) -> None:
    """Its timings take over what it found, where they run; and the next run tries them again, and no other."""
    cells = run.project.cells().set_index("implementation")
    assert cells.loc["plain/failing", "status"] == "failed"
    assert "the kernel is missing" in cells.loc["plain/failing", "reason"]
    again = set(re.findall(r"(?:check|time) plain/(?:tiny-lm/)?(plain/\w+)", run.again))
    assert again == {"plain/failing"}


def checking(node_of: dict[str, str], check: dict) -> str:
    """The job that made a check: there is one of each implementation and device here, and of one phase."""
    who = check["identity"]
    name = f"{who['environment']}_{who['implementation']}_tiny-protocol-{who['device']}_"
    (job,) = (job for job in node_of if job.startswith(name.replace("/", "_")))
    return job


def test_clock_has_its_node_for_itself(run: Run) -> None:
    timed = {name: read_json(str(file)) for name, file in below(run.project, "records").items()}
    checks = [read_json(str(file)) for file in below(run.project, "checks").values()]
    assert (len(timed), len(checks)) == (6 + 3 + 3, 3)
    jobs = timed | {checking(run.node_of, check): check for check in checks}
    assert jobs.keys() == run.node_of.keys()
    assert set(run.node_of.values()) == set(slurm.NODES)
    assert {node for name, node in run.node_of.items() if "gpu" in name} == {slurm.GPU_NODE}
    for name in timed:
        start, end = span(jobs[name])
        beside = {
            other
            for other, record in jobs.items()
            if run.node_of[other] == run.node_of[name]
            and span(record)[0] < end
            and start < span(record)[1]
        }
        assert beside == {name}


def test_rows_that_are_compared_take_turns_on_one_node(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.configure("config/documents/tiny.yaml", phases=["forward"])
    settings = {"machine": "node", "devices": "[cpu]", "protocol": "{threads: 1}"}
    project.configure("profiles/slurm/config.yaml", config=settings)
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        slurm.Cluster(Path(folder)) as cluster,
    ):
        printed = project.run(cluster.inside([*COMMAND, *TARGET]))
    records = [read_json(str(file)) for file in below(project, "records").values()]
    assert {record["identity"]["implementation"] for record in records} == {
        "plain/loop",
        "plain/other",
    }
    assert len(re.findall(r"/slurm_logs/group_turns-", printed)) == 1
    # In the same rounds.
    assert len({look["block"] for record in records for look in record["looks"]}) == 1
