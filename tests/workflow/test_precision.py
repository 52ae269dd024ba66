"""A cell whose interval is too wide gets further processes; no other one does, and none twice."""

import pytest

from .conftest import Project, implementation, make_project, manifest, undisturbed
from .test_statuses import FAILING

# Wider by far than the steady cell's interval could get on a busy machine, narrower than the noisy one's.
PROTOCOL = {"processes": 3, "target_interval": 1, "most_processes": 5, "further_s": None}
PROTOCOL |= {"rounds": 3, "most_rounds": 3}  # fewer have no interval


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make_project(tmp_path_factory.mktemp("precision"))
    project.targets = (manifest(),)
    undisturbed(project)
    entries = [
        implementation("steady", "plain"),
        implementation("noisy", "plain") | {"phases": ["forward"]},
        implementation("failing", "plain") | {"phases": ["forward"]},
    ]
    for entry in entries:
        del entry["flexibility"]  # which of them to use is not asked
    project.implement(*entries)
    project.path("scripts/implementations/plain/failing.py").write_text(FAILING)
    project.set_protocol(**PROTOCOL)
    return project


def processes(project: Project) -> dict[str, int]:
    """{style: its records of the phase forward}"""
    records = project.path("results/records").rglob("forward-*.json")
    names = [record.parent.name for record in records]
    return {name: names.count(name) for name in names}


def builds(project: Project) -> int:
    """How often the noisy style was built: in its check, and in every process."""
    return project.path("noisy-processes.txt").stat().st_size


def attempts(project: Project) -> dict[str, int]:
    """{process of the failing style: how often it was timed in vain}"""
    files = project.path("results/failures/time").rglob("plain/failing/*.jsonl")
    return {file.name.split(".")[0]: len(file.read_text().splitlines()) for file in files}


def test_first_look_takes_one_process(project: Project) -> None:
    """A run of all goes on from there."""
    project.snakemake("--config", "preliminary=true", "--", "all")
    assert processes(project) == {"steady": 1, "noisy": 1, "failing": 1}


def test_noisy_cell_gets_more_processes_up_to_the_limit(project: Project) -> None:
    project.snakemake("--", "all")
    assert processes(project) == {"steady": 3, "noisy": 5, "failing": 3}
    table = project.cells().query("device == 'cpu' and status == 'ok'")
    assert table.groupby("implementation")["processes"].unique().map(list).to_dict() == {
        "plain/steady": [3],
        "plain/noisy": [5],
    }
    assert builds(project) == 1 + 5


def test_failing_cell_is_tried_once_a_run(project: Project) -> None:
    """Also where the plan is made anew on the way, when it is known how many processes there are."""
    # The first look was a run too.
    assert attempts(project) == {"forward-cpu-1": 2, "forward-cpu-2": 1, "forward-cpu-3": 1}


def test_second_run_does_nothing(project: Project) -> None:
    """Once nothing fails."""
    failing = project.path("scripts/implementations/plain/failing.py")
    failing.write_text(project.path("scripts/implementations/plain/steady.py").read_text())
    project.snakemake()
    assert "Nothing to be done" in project.snakemake()
    assert builds(project) == 1 + 5


def test_higher_limit_adds_processes_to_the_noisy_cell_only(project: Project) -> None:
    before = project.measured()
    project.edit("tiny.yaml", "most_processes: 5", "most_processes: 6")
    project.snakemake()
    new = project.measured().keys() - before.keys()  # if it is expected to need it
    assert all("/forward-cpu-6." in each for each in new)
    assert not any("/steady/" in each for each in new)
    assert before.items() <= project.measured().items()
    assert builds(project) == 1 + 5 + sum("/noisy/" in each for each in new)


def test_a_lower_limit_shows_fewer_and_measures_nothing(project: Project) -> None:
    before = project.measured()
    printed = project.snakemake("--config", "protocol={most_processes: 3}")
    assert "judge_precision" not in printed and "time_cell" not in printed
    table = project.cells().query("device == 'cpu' and phase == 'forward'")
    assert set(table["processes"]) == {3}
    assert project.measured() == before
