"""Rows that cannot be measured: each says why, none stops the others, failures are tried again."""

import json
import shutil
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pandas as pd
import yaml

from measurement import quiet
from stats import clean

from .conftest import Project, implementation, make_project, span

FAILING = """\
from .model import Model


def build(workload, weights, device, phase):
    raise RuntimeError("the kernel is missing")
"""

AT_TIMES = """\
import os

from .model import Model


def build(workload, weights, device, phase):
    if os.path.exists("broken"):
        raise RuntimeError("the disk is full")
    return Model(workload, weights, device, phase)
"""

MEETING = """\
import os
import time

from .model import Model


def build(workload, weights, device, phase):
    open(__name__.rpartition(".")[2] + ".here", "w").close()
    limit = time.monotonic() + 300
    while not (os.path.exists("loop.here") and os.path.exists("other.here")):
        if time.monotonic() > limit:
            raise RuntimeError("no other check runs")
        time.sleep(0.01)
    return Model(workload, weights, device, phase)
"""


def add(project: Project, style: str, environment: str = "plain") -> None:
    """One more implementation in the matrix, or one more environment of one that is there."""
    path = project.path("config/implementations.yaml")
    entry = implementation(style, environment)
    entries = {each["implementation"]: each for each in yaml.safe_load(path.read_text())}
    there = entries.setdefault(entry["implementation"], entry)
    if there is not entry:
        there["environments"] = [*there["environments"], environment]
    path.write_text(yaml.safe_dump([*entries.values()]))


def rows(project: Project, style: str):
    table = project.cells()
    return table[(table["implementation"] == f"plain/{style}") & (table["device"] == "cpu")]


def attempts(project: Project, kind: str, style: str) -> dict[str, int]:
    """{phase: failed attempts} of the checks, or first timings, of a style."""
    files = project.path(f"results/failures/{kind}").rglob(f"plain/{style}/*.jsonl")
    return {file.name.partition("-")[0]: len(file.read_text().splitlines()) for file in files}


def test_first_run_measures_every_cell(finished: Project) -> None:
    table = finished.cells()
    measured = table[table["device"] == "cpu"]
    assert set(measured["status"]) == {"ok"}
    assert len(measured) == 4
    assert (measured["wall_s"] > 0).all() and (measured["batches"] >= 2).all()
    assert (measured[measured["phase"] == "training"]["gradient_error"] < 1e-5).all()
    reported = pd.read_csv(finished.path("results/cells.csv"))
    keys = ["environment", "implementation", "phase", "device"]
    reported, table = (each.set_index(keys).sort_index() for each in (reported, table))
    for column in ("status", "processes", "batches", "wall_s", "gradient_error"):
        pd.testing.assert_series_equal(reported[column], table[column], check_dtype=False)
    absent = table.loc[:, :, :, "gpu"]
    assert set(absent["status"]) == {"unsupported"} and absent["wall_s"].isna().all()


def test_numbers_can_be_followed_to_raw_samples(finished: Project) -> None:
    row = rows(finished, "loop").query("phase == 'forward'").iloc[0]
    (path,) = (file for file in finished.listed("plain/loop") if "forward-cpu-1." in file.name)
    record = json.loads(path.read_text())
    files = finished.path("results/records").rglob("*.json")
    best = quiet.of_run([json.loads(file.read_text()) for file in files])
    counted = clean.usable_records([record], best)[0]["samples"]
    assert abs(sum(counted) / len(counted) - row["wall_s"]) < 1e-12
    assert record["environment"]["packages"]["numpy"]
    assert record["check"]["status"] == "ok"


def test_failed_cell_is_tried_again_until_it_is_mended(project: Project) -> None:
    """And no other one: once a run, whether Snakemake remembers the last one or not."""
    before = project.measured()
    add(project, "failing")
    path = project.path("scripts/implementations/plain/failing.py")
    path.write_text(FAILING)
    project.snakemake()
    assert set(rows(project, "failing")["status"]) == {"failed"}
    assert "the kernel is missing" in rows(project, "failing")["reason"].iloc[0]
    assert set(rows(project, "loop")["status"]) == {"ok"}
    assert project.stale_cells() == {"plain/failing"}
    assert "attempt 2, as the last one failed" in project.snakemake("-n")
    project.snakemake()
    shutil.rmtree(project.path(".snakemake"))
    project.snakemake()
    for kind in ("check", "time"):
        assert attempts(project, kind, "failing") == {"forward": 3, "training": 3}
    assert before.items() <= project.measured().items()
    path.write_text(project.path("scripts/implementations/plain/loop.py").read_text())
    project.snakemake()
    assert set(rows(project, "failing")["status"]) == {"ok"}
    assert project.stale() == set()


def test_failed_cell_that_works_again(project: Project) -> None:
    """As after a disk that was full: nothing has changed, and what failed stays on record."""
    add(project, "failing")
    project.path("scripts/implementations/plain/failing.py").write_text(AT_TIMES)
    project.path("broken").touch()
    project.snakemake()
    assert set(rows(project, "failing")["status"]) == {"failed"}
    project.path("broken").unlink()
    project.snakemake()
    assert set(rows(project, "failing")["status"]) == {"ok"}
    assert project.stale() == set()
    for kind in ("check", "time"):
        assert attempts(project, kind, "failing") == {"forward": 2, "training": 2}


def test_wrong_gradient_closes_the_gate(project: Project) -> None:
    add(project, "wrong-gradient")
    project.snakemake()
    training = rows(project, "wrong-gradient").query("phase == 'training'").iloc[0]
    assert training["status"] == "incorrect"
    assert "gradient:" in training["reason"]
    (path,) = (f for f in project.listed("plain/wrong-gradient") if "training" in f.name)
    record = json.loads(path.read_text())
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
    assert set(found[found["environment"] == "plain"]["status"]) == {"ok"}
    assert project.stale() == set()  # nothing has changed: it would not be there now either


def test_framework_that_the_named_interpreter_lacks(project: Project) -> None:
    """Another version of it is said and measured; without it the rows say why, and others go on."""
    project.edit("envs/plain.yaml", "numpy==", "numpy==9")
    project.edit("envs/second.yaml", "numpy==", "abacus==")
    assert "numpy 9" in project.snakemake()
    assert set(rows(project, "loop")["status"]) == {"ok"}
    assert set(rows(project, "other")["status"]) == {"unsupported"}
    assert f"{sys.executable} has no abacus" in rows(project, "other")["reason"].iloc[0]


def turns(record: dict) -> Iterator[tuple[float, float]]:
    """When each turn of a record's process began, with its warm-up, and ended."""
    for look in record["looks"]:
        start = datetime.fromisoformat(look["start"]).timestamp()
        yield start - sum(look["warmup"]), start + look["interference"]["wall_s"]


def test_a_turn_has_the_machine_for_itself(finished: Project) -> None:
    """Of all processes' turns, no two overlap, and no check runs beside one."""
    found = {}
    for kind in ("records", "checks"):
        files = finished.path(f"results/{kind}").rglob("*.json")
        found[kind] = [json.loads(file.read_text()) for file in files]
    assert len(found["records"]) == len(found["checks"]) == 4
    taken = [each for record in found["records"] for each in turns(record)]
    assert len(taken) >= 2 * 4
    beside = taken + [span(check) for check in found["checks"]]
    for turn in taken:
        assert [other for other in beside if overlap(other, turn)] == [turn]


def test_checks_run_beside_each_other(tmp_path: Path) -> None:
    """Each waits for the other's start; by the time that clocks run, both have been there."""
    project = make_project(tmp_path)
    for style in ("loop", "other"):
        project.path(f"scripts/implementations/plain/{style}.py").write_text(MEETING)
    protocol = yaml.safe_load(project.path("tiny.yaml").read_text())["protocol"]
    project.configure("tiny.yaml", protocol=protocol | {"timeout_s": 600})
    project.snakemake()
    assert {*rows(project, "loop")["status"], *rows(project, "other")["status"]} == {"ok"}


def overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two jobs ran at the same time."""
    return one[0] < other[1] and other[0] < one[1]


def test_run_that_stops_early_ends_well(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.snakemake("--until", "fetch_corpus")
    assert len(list(project.path("results/corpus/sources").glob("*/source.json"))) == 1
    assert not project.path("results/records").exists()
