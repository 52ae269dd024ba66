"""Training runs: gated, compared, and none the worse for having been killed."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from measurement.record import read_json
from tests.tiny import BENCHMARK, CARRIED

from .conftest import SNAKEMAKE, Project, implementation, make_project, manifest

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
    project.targets = (manifest(),)
    project.path("scripts/implementations/plain/slow.py").write_text(SLOW)
    styles = ("loop", "slow", "wrong-gradient")
    project.implement(*(implementation(style, "plain") for style in styles))
    project.configure(
        "config/documents/tiny.yaml",
        phases=["training"],
        benchmarks={"tiny-lm": BENCHMARK | CARRIED},
        training={
            "benchmark": "tiny-lm",
            "points": [{"batch": 20, "within": 1e-9}],
            "implementations": ["plain/*"],
        },
    )
    project.settings(training={"batches": BATCHES, "checkpoint_batches": 5})
    project.snakemake()
    return project


def output(project: Project, style: str) -> Path:
    """The record of a style's run, whether it is there or not: the manifest names it."""
    (manifest,) = project.path("results/manifests").glob("*.json")
    runs = read_json(str(manifest))["training"]
    (run,) = (run for run in runs if run["implementation"] == f"plain/{style}" and run["record"])
    return project.path(f"results/{run['record']}")


def record(project: Project, style: str) -> dict:
    return read_json(str(output(project, style)))


def untimed(found: dict) -> tuple:
    points = [{**point, "train_s": None} for point in found["curve"]]
    return points, found["weights_sha256"], found["status"], found["benchmark"], found["protocol"]


def test_runs_train_the_same_model(trained: Project) -> None:
    curves = [record(trained, style)["curve"] for style in ("loop", "slow")]
    for curve in curves:
        assert [point["batch"] for point in curve] == [20, BATCHES]
    perplexities = [[point["valid_perplexity"] for point in curve] for curve in curves]
    assert perplexities[0] == pytest.approx(perplexities[1], rel=1e-9)
    assert not list(trained.path("results").rglob("*.npz"))


def test_check_gates_training(trained: Project) -> None:
    found = record(trained, "wrong-gradient")
    assert found["status"] == "incorrect" and "curve" not in found
    assert found["reason"].startswith("gradient:")


def test_killed_run_ends_with_the_record_of_an_uninterrupted_one(trained: Project) -> None:
    whole, path = record(trained, "slow"), output(trained, "slow")
    target, checkpoint = str(path.relative_to(trained.root)), path.with_suffix(".npz")
    path.unlink()
    options = ["--cores", "2", "--configfile", "tiny.yaml", "--", target]
    with subprocess.Popen(
        [SNAKEMAKE, *options],
        cwd=trained.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as running:
        while not checkpoint.exists():
            assert running.poll() is None
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGKILL)
    assert not path.exists()
    trained.snakemake("--unlock")
    trained.snakemake("--", target)
    found = record(trained, "slow")
    assert untimed(found) == untimed(whole)
    assert 5 <= found["resumed_at"][0] < BATCHES and whole["resumed_at"] == []
    seconds = found["curve"][-1]["train_s"]
    assert seconds > 0.1 * BATCHES  # of both processes
    assert not checkpoint.exists()
