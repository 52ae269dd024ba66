"""Two results folders side by side: what is named, and with which exit status."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from commands import compare_runs
from plan import listing
from plan.matrix import Measurement
from steps import pack_results
from tests.conftest import ROOT

from . import hand_made

BENCHMARK = "stacked-lm"  # of the document's: they are many
CELLS = [cell for cell in hand_made.cells("stacked-lm") if cell.benchmark == BENCHMARK]
SLOWER, BROKEN = CELLS[5], CELLS[9]
OTHER = "other-8c-def456"  # a machine


def noisy(seed: int, also: hand_made.Change = lambda *_: None) -> hand_made.Change:
    """Processes that differ by 1 %, and one more change."""
    random = np.random.default_rng(seed)

    def change(cell: Measurement, process: int, record: dict) -> None:
        factor = np.exp(0.01 * random.standard_normal())
        record["samples"] = [factor * seconds for seconds in record["samples"]]
        also(cell, process, record)

    return change


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes results folders, with three processes a cell."""

    def make(change: hand_made.Change, machine: str = hand_made.MACHINE["machine"]) -> Path:
        folder = tmp_path_factory.mktemp("project")
        hand_made.project(folder, change, 3, machine=machine, benchmarks=[BENCHMARK])
        config = hand_made.configuration("stacked-lm", 3, benchmarks=[BENCHMARK])
        hand_made.write_manifest(folder, "stacked-lm", config, machine)
        return folder / "results"

    return make


@pytest.fixture(scope="module")
def before(results: Callable[..., Path]) -> Path:
    return results(noisy(1))


LOADED = functools.cache(compare_runs.load)  # a folder is changed before it is compared


@pytest.fixture
def run(monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
    def compare(*arguments: object) -> tuple[int, str, str]:
        """(exit status, standard output, standard error) of compare_runs.py."""
        monkeypatch.setattr(compare_runs, "load", LOADED)
        monkeypatch.setattr("sys.argv", ["compare_runs.py", *map(str, arguments)])
        try:
            compare_runs.main()
        except SystemExit as stop:
            return stop.code, *capsys.readouterr()
        return 0, *capsys.readouterr()

    return compare


@pytest.fixture
def changed(before: Path, tmp_path: Path) -> Callable[..., Path]:
    """Makes a copy of `before` with another manifest."""

    def make(change: Callable[[dict], object]) -> Path:
        other = shutil.copytree(before, tmp_path / "results")
        change_manifest(other, change)
        return other

    return make


def change_manifest(folder: Path, change: Callable[[dict], object]) -> None:
    (path,) = (folder / "manifests").glob("*.json")
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def times(by: float) -> hand_made.Change:
    """All cells take so many times as long."""

    def change(cell: Measurement, process: int, record: dict) -> None:
        record["samples"] = [by * seconds for seconds in record["samples"]]

    return change


def line(page: str, cell: Measurement) -> str:
    """The row of a cell in the first table that has one."""
    return next(row for row in page.splitlines() if row.startswith(f"| `{cell.name}`"))


def slower(cell: Measurement, process: int, record: dict) -> None:
    if cell == SLOWER:
        times(1.1)(cell, process, record)


def test_a_locale_that_is_not_utf8(before: Path) -> None:
    done = subprocess.run(
        [sys.executable, "scripts", "compare_runs", str(before), str(before)],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stdout.decode().isascii()


def test_planted_regression_is_named(results, before: Path, run) -> None:
    after = results(noisy(2, slower))
    status, page, errors = run(before, after)
    assert (status, errors) == (0, f"Regressions:\n  {SLOWER.name}\n")
    assert page.startswith(
        f"# Comparison of two runs: B is worse in 1 measurement\n\n- `{SLOWER.name}`\n"
    )
    assert "**regression**" in line(page, SLOWER)
    assert page.count("**regression**") == 1
    assert "regressions: 1, improvements: 0" in page
    assert run("--fail", before, after)[0] == 1
    assert run("--fail", after, before)[0] == 0  # the other way round it is an improvement
    assert "**improvement**" in line(run(after, before)[1], SLOWER)
    assert run("--fail", "--relevant", 20, before, after)[0] == 0


def test_a_slower_day_is_told_from_slower_cells(results, before: Path, run) -> None:
    def day(cell: Measurement, process: int, record: dict) -> None:
        times(1.2)(cell, process, record)
        slower(cell, process, record)

    _, page, errors = run(before, results(noisy(5, day)))
    assert errors == f"Regressions:\n  {SLOWER.name}\n"
    assert "whose packages are the same took 1.20" in page and "B over A over 1.20" in page


def test_a_framework_that_became_slower_is_no_slower_day(results, before: Path, run) -> None:
    """All rows of two environments, of another version there."""

    def bumped(cell: Measurement, process: int, record: dict) -> None:
        if cell.environment in ("pytorch", "tensorflow"):
            times(1.1)(cell, process, record)
            record["environment"] = record["environment"] | {"packages": {"numpy": "0.0"}}

    _, _, errors = run(before, results(noisy(6, bumped)))
    named = errors.split()[1:]
    assert {name.split("/")[0] for name in named} <= {"pytorch", "tensorflow"} and len(named) > 5


def test_number_lost_by_a_failure_is_a_regression(results, before: Path, run) -> None:
    def broken(cell: Measurement, process: int, record: dict) -> None:
        if cell == BROKEN:
            hand_made.bad("failed", "RuntimeError: no kernel | image")(record)

    after = results(noisy(4, broken))
    status, page, errors = run("--fail", before, after)
    assert (status, errors) == (1, f"Regressions:\n  {BROKEN.name}\n")
    assert line(page, BROKEN).endswith(
        "| ok | failed | **regression** | RuntimeError: no kernel \\| image |"
    )
    assert run("--fail", after, before)[0] == 0


def test_what_became_worse_as_a_whole_fails(results, before: Path, run) -> None:
    three_times = results(noisy(7, times(3)))
    assert run("--fail", before, three_times)[0] == 1
    assert run("--fail", three_times, before)[0] == 0


def test_many_slower_rows_are_no_scatter(results, before: Path, run) -> None:
    """Three in ten. Other machines differ more than days of one do, but not by a thousand times."""
    chosen = {cell.name for cell in CELLS[: round(0.3 * len(CELLS))]}

    def slow(by: float) -> hand_made.Change:
        return lambda cell, *more: times(by if cell.name in chosen else 1)(cell, *more)

    for by, machine, named in [
        (3, hand_made.MACHINE["machine"], chosen),
        (1.5, OTHER, set()),
        (1000, OTHER, chosen),
    ]:
        status, _, errors = run("--fail", before, results(noisy(8, slow(by)), machine))
        assert (status, {*errors.split()[1:]}) == (bool(named), named)


def test_nothing_that_can_be_decided_fails(changed, before: Path, run) -> None:
    """One process a row, and no rounds."""

    def first_only(found: dict) -> None:
        for row in found["cells"]:
            row["records"] = row["records"][:1]

    once = changed(first_only)
    assert run(once, before)[0] == 0
    for a, b in ((once, before), (before, once), (once, once)):
        status, _, errors = run("--fail", a, b)
        assert status == 1 and "nothing can be decided" in errors and errors.count("\n") == 1


def test_what_else_differs_is_listed(results, before: Path, run) -> None:
    def elsewhere(cell: Measurement, process: int, record: dict) -> None:
        packages = {"numpy": "2.1"} if cell.environment == "pytorch" else {"numpy": "2.0"}
        record["environment"] = record["environment"] | {"packages": packages}
        if cell == SLOWER:
            record["benchmark"] = record["benchmark"] | {"hidden": 7}

    status, page, _ = run("--fail", before, results(noisy(5, elsewhere), OTHER))
    assert status == 0
    assert f"| machine | test-2c-abc123 | {OTHER} |" in page
    assert "| `pytorch`: numpy | 2.0 | 2.1 |" in page and "`tensorflow`: numpy" not in page
    assert f"- `{SLOWER.name}`: " in page


def test_cell_of_one_side(changed, before: Path, run) -> None:
    def remove(found: dict) -> None:
        found["cells"] = [row for row in found["cells"] if Measurement.of(row) != SLOWER]

    other = changed(remove)
    status, page, errors = run("--fail", before, other)
    assert (status, errors) == (1, f"Regressions:\n  {SLOWER.name}\n")
    assert re.search(rf"- `{SLOWER.name}` is in A only: .*\*\*regression\*\*", page)
    assert "numbers lost, regressions too: 1." in page
    status, page, errors = run("--fail", other, before)
    assert (status, errors) == (0, "")
    assert re.search(rf"- `{SLOWER.name}` is in B only: [^*]*\n", page)


def test_what_one_run_left_out_is_counted(changed, before: Path, run) -> None:
    """Neither a lost number nor a line a row."""
    left_out = []

    def leave_out(found: dict) -> None:
        for row in found["cells"]:
            if row["environment"] == SLOWER.environment:
                left_out.append(bool(row["records"]))
                row |= {"status": "not-run", "reason": "left out", "records": []}

    status, page, errors = run("--fail", before, changed(leave_out))
    assert (status, errors) == (0, "")
    assert f"- environments in A only: {SLOWER.environment}\n" in page
    assert f" left them out: {sum(left_out)}\n" in page
    assert "Statuses that changed: 0;" in page and f"`{SLOWER.environment}`: " not in page


def test_what_was_not_measured_yet_is_lost(changed, before: Path, run) -> None:
    """A run that was interrupted."""

    def interrupt(found: dict) -> None:
        for row in found["cells"]:
            if row["records"] and Measurement.of(row) != SLOWER:
                row |= {"status": "not-run", "reason": listing.LATER, "records": []}

    other = changed(interrupt)
    status, page, errors = run("--fail", before, other)
    lost = {cell.name for cell in CELLS} - {SLOWER.name}
    assert (status, {*errors.split()[1:]}) == (1, lost)
    assert f"numbers lost, regressions too: {len(lost)}." in page and "left them out" not in page
    assert run("--fail", other, before)[0] == 0


@pytest.mark.parametrize("lost", [True, False])
def test_a_document_that_was_asked_for_is_lost(changed, before: Path, run, lost: bool) -> None:
    """An interrupted run did not reach it; a configuration that does not ask for it leaves it out."""

    def reach_another(found: dict) -> None:
        row = found["cells"][0] | {"status": "unsupported", "records": []}
        row["implementation"] = "tvm/other"
        found |= {"document": "tvm-lstm", "cells": [row], "training": []}
        found["config"]["documents"] = ["tvm-lstm", *["stacked-lm"] * lost]

    _, page, errors = run(before, changed(reach_another))
    assert "documents in A only: stacked-lm" in page
    assert (f"  {SLOWER.name}\n" in errors) == lost


def test_archives_are_compared(before: Path, tmp_path: Path, run, monkeypatch) -> None:
    archive = tmp_path / "there.tar.xz"
    monkeypatch.setattr("sys.argv", ["pack", str(before), "--output", str(archive)])
    pack_results.main()
    status, page, _ = run(archive, before)
    assert status == 0 and f"| A | `{archive}` |" in page
    assert f"| `{SLOWER.name}` | 3 |" in page
    archive.write_text("none")
    status, page, errors = run(archive, before)
    assert (status, page) == (2, "") and f"{archive} cannot be read as an archive" in errors


def test_page_goes_to_a_file(before: Path, tmp_path: Path, run) -> None:
    output = tmp_path / "comparison.md"
    assert run("--output", output, before, before) == (0, "", "")
    assert output.read_text() == run(before, before)[1]
    status, _, said = run("--output", tmp_path, before, before)
    assert status == 2 and str(tmp_path) in said


RECORD = hand_made.place(SLOWER, 2)


def another_machine(folder: Path) -> None:
    (path,) = (folder / "manifests").glob("*")
    text = path.read_text().replace('"machine": "test-2c-abc123"', '"machine": "b"')
    path.with_name("stacked-lm-b.json").write_text(text)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "is not a results folder: it has no manifests/"),
        (lambda folder: change_manifest(folder, lambda m: m.update(schema_version=1)), "schema 1,"),
        (lambda folder: (folder / RECORD).write_text("{"), "is damaged"),
        (another_machine, "several machines (b, test-2c-abc123)"),
    ],
)
def test_folder_that_cannot_be_compared(
    damage: Callable[[Path], object], message: str, before: Path, tmp_path: Path, run
) -> None:
    other = shutil.copytree(before, tmp_path / "results")
    damage(other)
    status, page, errors = run(before, other)
    assert (status, page) == (2, "")
    assert str(other) in errors and message in errors
    assert errors.count("\n") == 1
