"""What a change makes stale: exactly the cells that it concerns."""

import yaml

from .conftest import Project

BOTH = {"plain/loop", "plain/other"}
AFTER = {
    *("cells.csv", "cells.parquet", "context.json", "records.zip"),
    *("report/index.md", "report/index.html", "report/tiny.md", "report/tiny.html"),
    "report/cells.html",
    *(
        f"report/figures/tiny-{figure}-cpu.{kind}"
        for figure in ("trade_off", "wall_time")
        for kind in ("png", "svg")
    ),
}


def append(project: Project, name: str) -> None:
    """A change to a Python file that changes nothing it computes."""
    path = project.path(name)
    path.write_text(path.read_text() + "\nEDITED = True\n")


def test_second_run_has_nothing_to_do(finished: Project) -> None:
    assert finished.stale() == set()
    assert "Nothing to be done" in finished.snakemake()


def test_the_profile_is_found(finished: Project) -> None:
    """It keeps the scheduler quiet while a clock runs."""
    assert "Using workflow specific profile profiles/default" in finished.snakemake("-n")


def test_touching_every_source_reruns_no_cell(project: Project) -> None:
    for folder in ("scripts", "config", "envs", "workflow", "report", "corpus"):
        for file in project.path(folder).rglob("*"):
            if file.is_file():
                file.touch()
    assert project.stale() == set()


def test_comment_in_an_environment_file_reruns_nothing(project: Project) -> None:
    project.edit("envs/plain.yaml", "# as installed", "# as it was installed here")
    assert project.stale() == set()


def test_version_bump_reruns_the_environments_cells_and_no_others(project: Project) -> None:
    before = project.path("envs/plain.yaml").read_text()
    project.edit("envs/plain.yaml", "numpy==", "numpy==9")
    assert project.stale_cells() == {"plain/loop"}
    others = {name for name in project.stale() if "/plain/loop/" not in name}
    environments = {name for name in others if name.startswith("environments/plain-")}
    assert len(environments) == 1
    assert others - environments == AFTER
    project.path("envs/plain.yaml").write_text(before)
    assert project.stale() == set()


def test_one_more_process_reruns_none_of_the_others(project: Project) -> None:
    stale = project.stale("--config", "protocol={processes: 2}")
    assert {name for name in stale if name.startswith(("checks/", "records/"))} == {
        f"records/{environment}/tiny-lm/{implementation}/{phase}-cpu-2.json"
        for environment, implementation in (("plain", "plain/loop"), ("second", "plain/other"))
        for phase in ("forward", "training")
    }


def test_editing_an_implementation_reruns_its_cells(project: Project) -> None:
    append(project, "scripts/implementations/plain/other.py")
    measured = project.stale() - AFTER
    cell = "second/tiny-lm/plain/other"
    assert measured == {
        "sources/plain/other.txt",
        *(f"checks/{cell}/{phase}-cpu.json" for phase in ("forward", "training")),
        *(f"records/{cell}/{phase}-cpu-1.json" for phase in ("forward", "training")),
    }


def test_editing_what_implementations_share_reruns_both(project: Project) -> None:
    append(project, "scripts/implementations/plain/model.py")
    assert project.stale_cells() == BOTH


def test_benchmark_parameter_reruns_its_cells(project: Project) -> None:
    document = project.path("config/documents/tiny.yaml")
    content = yaml.safe_load(document.read_text())
    content["benchmarks"]["tiny-lm"]["hidden"] = 6
    document.write_text(yaml.safe_dump(content))
    assert project.stale_cells() == BOTH


def test_stride_of_the_corpus_reruns_all(project: Project) -> None:
    assert project.stale_cells("--config", "corpus={stride: 2}") == BOTH


def test_editing_a_template_reruns_no_cell(project: Project) -> None:
    project.edit("report/tiny.md.j2", "# Test results", "# Results of the test")
    assert project.stale() == {name for name in AFTER if name.startswith("report/")}


def test_run_after_a_change_settles(project: Project) -> None:
    append(project, "scripts/implementations/plain/other.py")
    project.snakemake()
    assert project.stale() == set()
