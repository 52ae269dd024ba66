"""`make cell` for real, of a tiny shape, in the tests' framework: records, page, what an edit measures again, what is refused."""

import re
import sys
import zipfile
from pathlib import Path

import pytest

from measurement.record import read_json, write_sealed

from .conftest import Project, implementation, make_project

CELL = """\
from recurrent_cells import cell, sigmoid, tanh


@cell(gates="f g", states="h")
def tiny_cell(f, g, h):
    f = sigmoid(f)
    return f * h + (1 - f) * tanh(g)
"""
SHAPE = "{batch: 3, length: 4, features: 5, hidden: 4, layers: 2}"
LINK = "A cell of your own: [cell-tiny-cell](cell-tiny-cell.md). `tiny_cell` takes "


def made(folder: Path, cell: str = CELL) -> Project:
    """A project of two styles, nothing of which was measured, with a cell."""
    project = make_project(folder)
    project.configure("config/cell/document.yaml", labels={}, rows=[{"families": ["operators"]}])
    entries = [implementation("loop", "plain"), implementation("other", "second")]
    entries = [entry | {"benchmarks": ["tiny-lm", "own-*", "single-*"]} for entry in entries]
    project.implement(*entries)
    project.path("my_cell.py").write_text(cell)
    return project


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """A project in which a cell was measured, and what was printed."""
    project = made(tmp_path_factory.mktemp("cell"))
    project.set_protocol(processes=3, most_processes=3, target_interval=None, look_s=0.001)
    return project, run(project)


def run(project: Project, *more: str, ok: bool = True) -> str:
    command = [sys.executable, "scripts", "run_cell", "my_cell.py", "--shape", SHAPE]
    return project.run([*command, "--configfile", "tiny.yaml", *more], ok)


def records(project: Project) -> set[Path]:
    return set(project.path("results/records").rglob("*.json"))


def of_the_cell(found: set[Path]) -> set[Path]:
    return {
        path for path in found if read_json(str(path))["benchmark"].get("cell") == "own.tiny_cell"
    }


def test_every_row_has_three_processes_beside_its_own_lstm(measured: tuple[Project, str]) -> None:
    project, printed = measured
    found = records(project)
    # Two styles, a batch in two phases and a single sequence in one, the LSTM and the cell, three processes.
    assert len(found) == 2 * (2 + 1) * 2 * 3, printed
    assert len(of_the_cell(found)) == len(found) // 2
    assert {read_json(str(path))["status"] for path in found} == {"ok"}
    assert printed.count("All rows: one process each") == 1
    assert "Page: results/report/cell-tiny-cell" in printed
    for path in of_the_cell(found):
        check = read_json(str(path))["check"]
        assert check["status"] == "ok" and check["errors"]


def test_its_page(measured: tuple[Project, str]) -> None:
    project, _ = measured
    text = project.path("results/report/cell-tiny-cell.md").read_text()
    (said,) = [line for line in text.splitlines() if line.startswith("**`tiny_cell` takes ")]
    # In training, in inference and for a single sequence, over the fastest LSTM.
    assert len(re.findall(r"[\d.]+ \[[\d.]+, [\d.]+\] times", said)) == 3
    rows = [line for line in text.splitlines() if line.startswith("| Plain ")]
    assert len(rows) == 2 * 2 and not any("–" in row for row in rows)
    assert "## In a program of your own" in text
    assert project.path("results/report/cell-tiny-cell.html").exists()
    assert not project.path("results/report/index.html").exists()
    folder = project.path("results/cells/tiny_cell")
    assert (folder / "cell.py").read_text() == CELL
    assert "def step(" in (folder / "pytorch.py").read_text()


def test_compared_exported_and_packed(measured: tuple[Project, str], tmp_path: Path) -> None:
    """Rows of a cell of one's own, by names that say which cell that is."""
    project, _ = measured
    script = [sys.executable, "scripts"]
    told = project.run([*script, "compare_runs", "results", "results"])
    assert "Measurements compared: 12" in told
    assert "`plain/own-3x4x5x4-d2-tiny_cell-cell/plain/loop/training-cpu`" in told
    project.run([*script, "export_results", "pyperf", "--output", str(tmp_path / "pyperf.json")])
    assert "single-3x4x5x4-d2-tiny_cell-cell" in (tmp_path / "pyperf.json").read_text()
    archive = tmp_path / "sent.zip"
    project.run([*script, "pack_results", "--output", str(archive)])
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(project.root)
        records = [name for name in packed.namelist() if "tiny_cell-cell" in name]
    # Of another machine, for what follows.
    there = project.path("sent").rename(project.path("elsewhere"))
    (there / "pack.json").unlink()
    (file,) = there.glob("manifests/*.json")
    other = file.rename(file.with_name("cell-tiny-cell-other-8c-def456.json"))
    write_sealed(str(other), read_json(str(other)) | {"machine": "other-8c-def456"})
    assert len(records) == 2 * (2 + 1) * 3


def test_again_with_another_machine_measures_nothing(measured: tuple[Project, str]) -> None:
    """Nor for a comment. The pack of the test before has a page of its own beside this machine's."""
    project, _ = measured
    before = project.measured()
    project.path("my_cell.py").write_text(f"# said\n{CELL}")
    run(project, "--config", "also_report=[elsewhere]")
    assert project.measured() == before
    of_machine = "report/machines/other-8c-def456/cell-tiny-cell"
    pages = [f"results/{page}.md" for page in ("report/cell-tiny-cell", of_machine)]
    own, other = (project.path(page).read_text().splitlines() for page in pages)
    # The same numbers, on a page each.
    assert [line for line in own if "Plain" in line] == [line for line in other if "Plain" in line]
    html = project.path("results/report/cell-tiny-cell.html").read_text()
    assert 'href="machines/other-8c-def456/cell-tiny-cell.html"' in html
    assert project.path(f"results/{of_machine}.html").exists()


def test_an_edit_measures_its_own_rows_again(measured: tuple[Project, str]) -> None:
    project, _ = measured
    before = records(project)
    file = project.path("my_cell.py")
    file.write_text(CELL.replace("tanh(g)", "tanh(2 * g)"))
    run(project, "--phases", "training")
    new = records(project) - before
    assert len(new) == 2 * 3 and of_the_cell(new) == new  # the LSTM's are there
    file.write_text(CELL)


def test_the_first_page_of_the_next_report_leads_there(measured: tuple[Project, str]) -> None:
    project, _ = measured
    project.snakemake()
    assert LINK in project.path("results/report/index.md").read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tanh(g)", "squash(g)", r"my_cell\.py:7: .*squash"),
        (
            *("(1 - f) * tanh(g)", "1e30 * (1 + h) + tanh(g)"),
            r"my_cell\.py: state h of layer 1 overflows float32 at step 2 of 4",
        ),
    ],
    ids=["no cell", "it explodes"],
)
def test_what_cannot_be_measured_ends_it_before_anything_is_timed(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    project = made(tmp_path, CELL.replace(old, new))
    printed = run(project, ok=False).strip()
    assert re.match(said, printed) and "\n" not in printed, printed
    assert not project.path("results/records").exists()
