"""Nothing that was measured is lost or measured twice; what is missing is measured, and nothing else."""

import re
import shutil
from base64 import urlsafe_b64encode
from collections import Counter
from pathlib import Path

import pytest

from tests import scale

from .conftest import Project, manifest

BOTH = {"plain/loop", "plain/other"}
PHASES = ("forward", "training")
LONGER = ("--config", "protocol={rounds: 3, most_rounds: 3}")


def manifests(project: Project) -> list[Path]:
    return sorted(project.path("results/manifests").glob("*.json"))


def append(project: Project, name: str, line: str = "EDITED = True") -> None:
    """Add a line to a Python file: by default one that changes nothing it computes, but is code."""
    path = project.path(name)
    path.write_text(f"{path.read_text()}\n{line}\n")


def without_digest(names: set[str]) -> set[str]:
    return {re.sub(r"\.[0-9a-f]{12}(?=\.)", "", name) for name in names}


def made(before: dict, after: dict) -> set[str]:
    """What was measured between two looks at a project, without digests. Nothing of before has changed."""
    assert before.items() <= after.items()
    return without_digest(after.keys() - before.keys())


def records(environment: str, implementation: str, process: int = 1) -> set[str]:
    folder = f"records/{environment}/tiny-lm/{implementation}"
    return {f"{folder}/{phase}-cpu-{process}.json" for phase in PHASES}


def checks(environment: str, implementation: str) -> set[str]:
    return {f"checks/{environment}/tiny-lm/{implementation}/{phase}-cpu.json" for phase in PHASES}


def test_second_run_has_nothing_to_do(finished: Project) -> None:
    """Of fewer jobs at once, too; by the profile, which keeps the scheduler quiet while a clock runs."""
    printed = finished.snakemake("--cores", "2")
    assert "Nothing to be done" in printed
    assert "Using workflow specific profile profiles/default" in printed


def test_the_graph_knows_what_was_done(finished: Project) -> None:
    """In a finished folder, too: each record with its rule, and all rules that led to a page."""
    lines = [line.split("\t") for line in finished.snakemake("--summary").splitlines()]
    files = {line[0]: line for line in lines if len(line) == 6 and line[-1] != "plan"}
    assert {line[-1] for line in files.values()} == {"no update"}
    for implementation in BOTH:
        for record in finished.listed(implementation):
            assert files[str(record.relative_to(finished.root))][2] == "time_cell"
    assert (
        Counter(line[2] for line in files.values()).items()
        >= {
            **{"time_cell": 4, "check_implementation": 2, "build_environment": 4},
            **{"fetch_corpus": 1, "tokenize_corpus": 1},
        }.items()
    )
    drawn = finished.snakemake("--rulegraph")
    assert {"time_cell", "build_environment"} <= set(re.findall(r'label = "(\w+)"', drawn))


MODULE = """\
configfile: "tiny.yaml"
module measured:
    snakefile: "{root}/Snakefile"
    config: config
use rule * from measured as measured_*
rule mine:
    input: "results/cells.csv"
    output: "mine.txt"
    shell: "wc -l {{input}} > {{output}}"
"""


def test_a_module_of_another_workflow_knows_what_was_done(
    finished: Project, tmp_path: Path
) -> None:
    """Its Snakefile lies elsewhere; Snakemake runs in this folder."""
    (tmp_path / "Snakefile").write_text(MODULE.format(root=finished.root))
    command = ["-n", "--snakefile", str(tmp_path / "Snakefile")]
    planned = finished.snakemake(*command, *LONGER, "--", "mine.txt")
    jobs = scale.jobs(planned)
    assert jobs["mine"] == 1 and jobs["measured_time_cell"] == 4
    assert not jobs.keys() & {
        f"measured_{name}" for name in ("build_environment", "fetch_corpus", "check_implementation")
    }


def test_what_is_not_computed_measures_nothing_again(project: Project) -> None:
    """Edited rules, by which pages are made again; a look at every file, comments and docstrings; the mark of a job whose end
    Snakemake did not see."""
    project.edit("workflow/rules/report.smk", "{params.stamp} join", "true; {params.stamp} join")
    planned = project.snakemake("-n", "--", "results/cells.csv")
    assert "join_tables" in planned.split() and "time_cell" not in planned.split()
    for name in ("check", "environments"):
        project.edit(f"workflow/rules/{name}.smk", "{params.python:q}", "true; {params.python:q}")
    project.edit("envs/plain.yaml", "# as installed", "# as it was installed here")
    append(project, "scripts/implementations/plain/model.py", "# Edited.")
    append(project, "scripts/measurement/worker.py", '"""Edited."""')
    timing = project.path("scripts/measurement/timing.py")
    timing.write_text(timing.read_text().replace('"""', '"""Edited. ', 1))
    for folder in ("scripts", "config", "envs", "workflow", "report", "corpus"):
        for file in project.path(folder).rglob("*"):
            if file.is_file():
                file.touch()
    (record,) = project.path("results/records/plain").rglob("forward-*.json")
    name = str(record.relative_to(project.root))
    mark = project.path(f".snakemake/incomplete/{urlsafe_b64encode(name.encode()).decode()}")
    mark.write_text("{}")
    assert "Nothing to be done" in project.snakemake()
    assert not mark.exists()


def test_protocols_keep_their_results(project: Project) -> None:
    """Quick, another protocol, a slip of the pen, quick, the other: nothing is measured twice."""
    quick = project.measured()
    project.snakemake(*LONGER)
    both = project.measured()
    assert made(quick, both) == records("plain", "plain/loop") | records("second", "plain/other")
    printed = project.snakemake("--config", "corpus={path: /nonexistent}", ok=False)
    said = "corpus.path: /nonexistent/ptb.train.txt does not exist; name a folder with "
    assert said in printed
    assert "Traceback" not in printed and "Building DAG" not in printed
    for settings, batches in (((), 2), (LONGER, 3)):
        project.snakemake(*settings)
        assert project.measured() == both
        assert project.cells().query("device == 'cpu'")["batches"].min() >= batches


def test_pin_bumped_and_put_back(project: Project) -> None:
    pins = project.path("envs/plain.yaml")
    before, text = project.measured(), pins.read_text()
    (old,) = project.path("results/environments").glob("plain-*.json")
    pins.write_text(text.replace("- numpy==", f"- pytest=={pytest.__version__}\n      - numpy=="))
    printed = project.snakemake()
    (new,) = set(re.findall(rf"new: environment \({old.stem} -> (plain-\w+)\)", printed))
    after = project.measured()
    expected = checks("plain", "plain/loop") | records("plain", "plain/loop")
    assert made(before, after) == {f"environments/{new}.json", *expected}
    assert project.environments("plain/loop") == {new}
    pins.write_text(text)
    project.snakemake()
    assert project.measured() == after
    assert project.environments("plain/loop") == {old.stem}


def test_edit_of_code_and_back(project: Project) -> None:
    """Exactly the cells that run it, and what they were stays."""
    name = "scripts/implementations/plain/other.py"
    before, text = project.measured(), project.path(name).read_text()
    append(project, name)
    printed = project.snakemake()
    new = r"(?:check|time) second/\S+: new: sources \(\w{8} -> \w{8}\)"
    assert len(re.findall(new, printed)) == 3
    after = project.measured()
    assert made(before, after) == checks("second", "plain/other") | records("second", "plain/other")
    project.path(name).write_text(text)
    project.snakemake()
    assert project.measured() == after
    append(project, "scripts/implementations/plain/model.py")
    assert project.stale_cells() == BOTH


def test_machines_in_one_folder_are_two(project: Project) -> None:
    """Neither touches what the other measured."""
    before, (own,) = project.measured(), manifests(project)
    written = own.stat().st_mtime_ns
    there = ("--config", "machine=other", "--", manifest("other"))
    project.snakemake(*there)
    after = project.measured()
    assert made(before, after) == {
        *(checks("plain", "plain/loop") | checks("second", "plain/other")),
        *(records("plain", "plain/loop") | records("second", "plain/other")),
    }
    assert {file.name for file in manifests(project)} == {own.name, "tiny-other.json"}
    assert "Nothing to be done" in project.snakemake()
    assert own.stat().st_mtime_ns == written
    counts = project.cells().query("status == 'ok'")["machine"].value_counts()
    assert len(counts) == 2 and set(counts) == {4}


def test_a_record_that_was_deleted_is_made_again(project: Project) -> None:
    """With its check, and nothing beside it. Snakemake by itself misses no file while what was made of it is there."""
    (record,) = project.path("results/records/plain").rglob("forward-*.json")
    before = project.measured()
    record.unlink()
    shutil.rmtree(project.path("results/checks"))
    project.snakemake()
    after = project.measured()
    changed = without_digest({file for file in after if before.get(file) != after[file]})
    timed = {"records/plain/tiny-lm/plain/loop/forward-cpu-1.json"}
    assert timed < changed <= timed | checks("plain", "plain/loop")
    assert set(project.cells().query("device == 'cpu'")["status"]) == {"ok"}
