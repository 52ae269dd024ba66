"""Training runs: gated, compared, and none the worse for having been killed."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.tiny import BENCHMARK, CARRIED

from .conftest import SNAKEMAKE, Project, implementation, make_project

FOLDER = "results/training/plain/tiny-lm/plain"
BATCHES = 60
SLOW = """\
import time

from .model import Model


class Slow(Model):
    def step(self, inputs, targets):
        time.sleep(0.1)
        return Model.step(self, inputs, targets)


def build(workload, weights, device, phase):
    return Slow(workload, weights, device, phase)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two right implementations and a wrong one, each trained in one go, one of them slow enough to be killed."""
    project = make_project(tmp_path_factory.mktemp("training"))
    project.path("scripts/implementations/plain/slow.py").write_text(SLOW)
    styles = ["loop", "slow", "wrong-gradient"]
    entries = [implementation(style, "plain") for style in styles]
    project.path("config/implementations.yaml").write_text(yaml.safe_dump(entries))
    project.path("config/claims.yaml").write_text("[]")
    with project.path("report/tiny.md.j2").open("a") as page:
        page.write("{{ macros.training_runs(trainings, several) }}")
    project.configure(
        "config/documents/tiny.yaml",
        phases=["training"],
        benchmarks={"tiny-lm": BENCHMARK | CARRIED},
        figures=[{"draws": "wall_time"}, {"draws": "perplexity"}],
        training={
            "benchmark": "tiny-lm",
            "points": [{"batch": 20, "within": 1e-9}],
            "implementations": ["plain/*"],
        },
    )
    project.configure("tiny.yaml", training={"batches": BATCHES, "checkpoint_batches": 5})
    project.snakemake()
    return project


def record(project: Project, style: str) -> dict:
    return json.loads(project.path(f"{FOLDER}/{style}/training-cpu.json").read_text())


def untimed(found: dict) -> tuple:
    points = [{**point, "train_s": None} for point in found["curve"]]
    return points, found["weights_sha256"], found["status"], found["benchmark"], found["protocol"]


def test_page_has_the_runs_and_the_verdict(trained: Project) -> None:
    page = trained.path("results/report/tiny.md").read_text()
    found = record(trained, "loop")
    assert [point["batch"] for point in found["curve"]] == [20, BATCHES]
    assert f"{found['curve'][-1]['valid_perplexity']:.3f}" in page
    assert "The implementations train the same model: **holds**; nearest to its bound" in page
    assert trained.path("results/report/figures/tiny-perplexity-cpu.svg").exists()
    assert not list(trained.path("results/training").rglob("*.npz"))
    runs = {name for name in trained.stale() if name.startswith("training/")}
    assert runs == {"training/plain/tiny-lm/plain/wrong-gradient/training-cpu.json"}  # tried again


def test_check_gates_training(trained: Project) -> None:
    found = record(trained, "wrong-gradient")
    assert found["status"] == "incorrect" and "curve" not in found
    assert "| *incorrect* | gradient:" in trained.path("results/report/tiny.md").read_text()


def test_killed_run_ends_with_the_record_of_an_uninterrupted_one(
    trained: Project, tmp_path: Path
) -> None:
    whole = record(trained, "slow")
    shutil.copytree(trained.root, tmp_path / "copy")
    project = Project(tmp_path / "copy")
    target = f"{FOLDER}/slow/training-cpu.json"
    project.path(target).unlink()
    checkpoint = project.path(target).with_suffix(".npz")
    options = ["--cores", "2", "--configfile", "tiny.yaml", "--", target]
    with subprocess.Popen(
        [SNAKEMAKE, *options],
        cwd=project.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as running:
        while not checkpoint.exists():
            assert running.poll() is None
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGKILL)
    assert not project.path(target).exists()
    project.snakemake("--unlock")
    project.snakemake("--", target)
    found = record(project, "slow")
    assert untimed(found) == untimed(whole)
    assert 5 <= found["resumed_at"][0] < BATCHES and whole["resumed_at"] == []
    seconds = found["curve"][-1]["train_s"]
    assert seconds > 0.1 * BATCHES  # of both processes
    assert not checkpoint.exists()
    assert project.stale("--", target) == set()
