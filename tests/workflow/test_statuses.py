"""Rows that cannot be measured: each says why, none stops the others, failures are tried again."""

import json
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from measurement import quiet
from stats import clean

from .conftest import Project, copied, implementation, make_project, manifest, span, turns

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


@pytest.fixture(scope="module")
def tried(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with rows that cannot be measured, after its first run."""
    project = copied(finished, tmp_path_factory.mktemp("tried"))
    before = project.measured()
    for style in ("failing", "at-times", "wrong-gradient"):
        add(project, style)
    styles = project.path("scripts/implementations/plain")
    (styles / "failing.py").write_text(FAILING)
    (styles / "at_times.py").write_text(AT_TIMES)
    project.path("broken").touch()
    add(project, "loop", "plain-2012")
    text = project.path("envs/pytorch-2019.yaml").read_text()
    assert "- python =3.7\n" in text
    project.path("envs/plain-2012.yaml").write_text(text.replace("=3.7\n", "=3.2\n"))
    # Interpreters that have another NumPy, and a package not at all.
    project.edit("envs/plain.yaml", "numpy==", "numpy==9")
    project.edit("envs/second.yaml", "numpy==", "abacus==")
    assert "numpy 9" in project.snakemake()
    assert before.items() <= project.measured().items()
    return project


@pytest.mark.parametrize(
    ("style", "environment", "status", "reason"),
    [
        ("failing", "plain", "failed", "the kernel is missing"),
        ("at-times", "plain", "failed", "the disk is full"),
        ("loop", "plain-2012", "unsupported", "no Python ==3.2.* on this machine"),
        ("other", "second", "unsupported", f"{sys.executable} has no abacus"),
        ("loop", "plain", "ok", ""),
    ],
)
def test_each_row_says_why_and_stops_no_other(
    tried: Project, style: str, environment: str, status: str, reason: str
) -> None:
    """What an environment cannot have costs its own rows; another version than is pinned is measured."""
    found = rows(tried, style).query(f"environment == '{environment}'")
    assert set(found["status"]) == {status} and len(found) == 2
    assert all(reason in each for each in found["reason"])


def test_wrong_gradient_closes_the_gate(tried: Project) -> None:
    training = rows(tried, "wrong-gradient").query("phase == 'training'").iloc[0]
    assert training["status"] == "incorrect"
    assert "gradient:" in training["reason"]
    (path,) = (f for f in tried.listed("plain/wrong-gradient") if "training" in f.name)
    record = json.loads(path.read_text())
    assert "samples" not in record and "warmup" not in record


def test_failures_are_tried_again_until_they_are_mended(tried: Project) -> None:
    """And no other row: once a run, though Snakemake does not remember the last one. What failed stays on record. One works
    again as after a disk that was full, when nothing has changed; one when its code has."""
    before = tried.measured()
    tried.path("broken").unlink()
    shutil.rmtree(tried.path(".snakemake"))
    tried.snakemake()
    assert set(rows(tried, "at-times")["status"]) == {"ok"}
    for kind in ("check", "time"):
        for style in ("failing", "at-times"):
            assert attempts(tried, kind, style) == {"forward": 2, "training": 2}
    after = tried.measured()
    changed = {file for file in after if before.get(file) != after[file]}
    assert all(re.search("/(failing|at-times|wrong-gradient)/", file) for file in changed)
    failing = tried.path("scripts/implementations/plain/failing.py")
    failing.write_text(tried.path("scripts/implementations/plain/loop.py").read_text())
    tried.snakemake()
    assert set(rows(tried, "failing")["status"]) == {"ok"}
    assert tried.stale_cells() <= {"plain/wrong-gradient"}


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
    project.targets = (manifest(),)
    for style in ("loop", "other"):
        project.path(f"scripts/implementations/plain/{style}.py").write_text(MEETING)
    project.snakemake()
    assert {*rows(project, "loop")["status"], *rows(project, "other")["status"]} == {"ok"}


def overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two jobs ran at the same time."""
    return one[0] < other[1] and other[0] < one[1]
