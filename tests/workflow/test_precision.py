"""A cell whose interval is too wide gets further processes; no other one does, and none twice."""

from pathlib import Path

import pytest
import yaml

from .conftest import Project, implementation, make_project

# Wider by far than the steady cell's interval could get on a busy machine, narrower than the noisy one's.
PROTOCOL = {"processes": 3, "target_interval": 4, "most_processes": 5}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make_project(tmp_path_factory.mktemp("precision"))
    entries = [
        implementation("steady", "plain"),
        implementation("noisy", "plain") | {"phases": ["forward"]},
    ]
    project.path("config/implementations.yaml").write_text(yaml.safe_dump(entries))
    project.path("config/claims.yaml").write_text("[]")  # those of the project name other styles
    protocol = yaml.safe_load(project.path("tiny.yaml").read_text())["protocol"]
    project.configure("tiny.yaml", protocol=protocol | PROTOCOL)
    return project


def processes(project: Project) -> dict[str, int]:
    """{style: its records of the phase forward}"""
    records = project.path("results/records").rglob("forward-*.json")
    names = [record.parent.name for record in records]
    return {name: names.count(name) for name in names}


def builds(project: Project) -> int:
    """How often the noisy style was built: in its check, and in every process."""
    return project.path("noisy-processes.txt").stat().st_size


def test_noisy_cell_gets_more_processes_up_to_the_limit(project: Project) -> None:
    assert "judge_precision" in project.snakemake("-n")
    project.snakemake()
    assert processes(project) == {"steady": 3, "noisy": 5}
    table = project.cells().query("device == 'cpu'")
    assert table.groupby("implementation")["processes"].unique().map(list).to_dict() == {
        "plain/steady": [3],
        "plain/noisy": [5],
    }
    assert set(table["status"]) == {"ok"}
    assert builds(project) == 1 + 5
    page = project.path("results/report/tiny.md").read_text()
    assert "3 fresh processes a cell, up to 5 where its 95 % interval is wider than 400 %" in page


def test_second_run_does_nothing(project: Project) -> None:
    assert project.stale() == set()
    assert "Nothing to be done" in project.snakemake()
    assert builds(project) == 1 + 5


def test_higher_limit_adds_processes_to_the_noisy_cell_only(project: Project) -> None:
    project.edit("tiny.yaml", "most_processes: 5", "most_processes: 6")
    assert not any(name.startswith("records/") for name in project.stale())
    project.snakemake()
    assert processes(project) == {"steady": 3, "noisy": 6}
    assert builds(project) == 1 + 6
    assert project.stale() == set()


def test_without_a_target_the_plan_shows_everything(project: Project) -> None:
    project.edit("tiny.yaml", "target_interval: 4", "target_interval: null")
    assert "processes.json" not in project.stale()
    planned = project.snakemake("-n")
    assert "collect_records" in planned and "judge_precision" not in planned
    records = {Path(name).parent.name for name in project.stale() if name.startswith("records/")}
    assert records == set()
    project.snakemake()
    table = project.cells().query("device == 'cpu'")
    assert set(table["processes"]) == {3}
