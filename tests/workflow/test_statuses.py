"""Rows that cannot be measured: each says why, none stops the others, failures are tried again."""

import itertools
import json
import sys
from pathlib import Path

import yaml

from .conftest import Project, implementation, make_project

FAILING = """\
from .model import Model


def build(workload, weights, device, phase):
    raise RuntimeError("the kernel is missing")
"""


def add(project: Project, style: str, environment: str = "plain") -> None:
    """One more implementation in the matrix."""
    path = project.path("config/implementations.yaml")
    entries = [*yaml.safe_load(path.read_text()), implementation(style, environment)]
    path.write_text(yaml.safe_dump(entries))


def rows(project: Project, style: str):
    table = project.cells()
    return table[(table["implementation"] == f"plain/{style}") & (table["device"] == "cpu")]


def test_first_run_measures_every_cell(finished: Project) -> None:
    table = finished.cells()
    measured = table[table["device"] == "cpu"]
    assert set(measured["status"]) == {"ok"}
    assert len(measured) == 4
    assert (measured["wall_s"] > 0).all() and (measured["batches"] == 2).all()
    assert (measured[measured["phase"] == "training"]["gradient_error"] < 1e-5).all()
    absent = table[table["device"] == "gpu"]
    assert set(absent["status"]) == {"unsupported"} and absent["wall_s"].isna().all()
    page = finished.path("results/report/tiny.md").read_text()
    for row in measured.itertuples():
        assert f"{row.wall_s:.4f}" in page


def test_numbers_can_be_followed_to_raw_samples(finished: Project) -> None:
    row = rows(finished, "loop").query("phase == 'forward'").iloc[0]
    path = "results/records/plain/tiny-lm/plain/loop/forward-cpu-1.json"
    record = json.loads(finished.path(path).read_text())
    assert abs(sum(record["samples"]) / 2 - row["wall_s"]) < 1e-12
    assert record["environment"]["packages"]["numpy"]
    assert record["check"]["status"] == "ok"


def test_failed_cell_is_tried_again_until_it_is_mended(project: Project) -> None:
    add(project, "failing")
    path = project.path("scripts/implementations/plain/failing.py")
    path.write_text(FAILING)
    project.snakemake()
    assert set(rows(project, "failing")["status"]) == {"failed"}
    assert "the kernel is missing" in rows(project, "failing")["reason"].iloc[0]
    assert "the kernel is missing" in project.path("results/report/tiny.md").read_text()
    assert set(rows(project, "loop")["status"]) == {"ok"}
    assert project.stale_cells() == {"plain/failing"}
    project.snakemake()
    history = project.path("results/failures/check/plain/tiny-lm/plain/failing/forward-cpu-0.jsonl")
    assert len(history.read_text().splitlines()) == 2
    path.write_text(project.path("scripts/implementations/plain/loop.py").read_text())
    project.snakemake()
    assert set(rows(project, "failing")["status"]) == {"ok"}
    assert project.stale() == set()


def test_wrong_gradient_closes_the_gate(project: Project) -> None:
    add(project, "wrong-gradient")
    project.snakemake()
    training = rows(project, "wrong-gradient").query("phase == 'training'").iloc[0]
    assert training["status"] == "incorrect"
    assert "gradient:" in training["reason"]
    path = "results/records/plain/tiny-lm/plain/wrong-gradient/training-cpu-1.json"
    record = json.loads(project.path(path).read_text())
    assert "samples" not in record and "warmup" not in record


def test_missing_interpreter_costs_its_own_rows_only(project: Project) -> None:
    add(project, "loop", "plain-2012")
    text = project.path("envs/pytorch-2019.yaml").read_text()
    assert "- python =3.7\n" in text
    project.path("envs/plain-2012.yaml").write_text(text.replace("=3.7\n", "=3.2\n"))
    project.snakemake()
    found = rows(project, "loop")
    ancient = found[found["environment"] == "plain-2012"]
    assert set(ancient["status"]) == {"unsupported"}
    assert "no Python ==3.2.* on this machine" in ancient["reason"].iloc[0]
    page = project.path("results/report/tiny.md").read_text()
    assert "| plain-2012 | *unsupported* | plain 2" in page  # then, beside now
    assert set(found[found["environment"] == "plain"]["status"]) == {"ok"}
    assert project.stale() == set()  # nothing has changed: it would not be there now either


def test_version_that_differs_from_the_pin_is_named(project: Project) -> None:
    project.edit("envs/plain.yaml", "numpy==", "numpy==9")
    printed = project.snakemake()
    reason = rows(project, "loop")["reason"].iloc[0]
    assert "is pinned" in reason and sys.executable in reason
    assert "is pinned" in printed


def test_timing_runs_alone(finished: Project) -> None:
    files = [file for file in finished.path(".snakemake/metadata").rglob("*") if file.is_file()]
    logged = [json.loads(file.read_text()) for file in files]
    jobs = list({job["job_hash"]: job for job in logged}.values())  # one file an output
    timed = [job for job in jobs if job["rule"] == "time_cell"]
    assert len(timed) == 4 and len(jobs) == 18
    for clock in timed:
        assert [job["rule"] for job in jobs if overlap(job, clock)] == ["time_cell"]  # itself
    checks = [job for job in jobs if job["rule"] == "check_implementation"]
    assert any(overlap(one, other) for one, other in itertools.combinations(checks, 2))


def overlap(one: dict, other: dict) -> bool:
    """Whether two jobs ran at the same time, by what Snakemake has logged."""
    return one["starttime"] < other["endtime"] and other["starttime"] < one["endtime"]


def test_snakemake_report_holds_table_and_figure(finished: Project) -> None:
    finished.snakemake("--report", "report.html")
    page = finished.path("report.html").read_text()
    assert "tiny-trade_off-cpu.svg" in page and "cells.csv" in page and "A tiny document" in page


def test_run_for_another_target_ends_well(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.snakemake("--", "results/corpus/corpus.json")
    assert project.path("results/corpus/corpus.json").exists()
    assert not project.path("results/cells.csv").exists()
