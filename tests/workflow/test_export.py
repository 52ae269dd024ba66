"""pyperf itself on what `make export` writes."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Project


@pytest.fixture(scope="module")
def exported(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the finished project gives."""
    path = tmp_path_factory.mktemp("export") / "found.json"
    finished.run([sys.executable, "scripts", "export_results", "pyperf", "--output", str(path)])
    return path


@pytest.fixture(scope="module")
def pyperf(docs: Path) -> Callable[..., str]:
    """Runs it; -> what it prints."""

    def run(*arguments: object) -> str:
        command = [docs / "bin/python", "-m", "pyperf", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_pyperf_reads_it(finished: Project, exported: Path, pyperf: Callable[..., str]) -> None:
    names = [each["metadata"]["name"] for each in json.loads(exported.read_text())["benchmarks"]]
    cells = finished.cells().query("status == 'ok'")
    assert len(names) == len(cells) == 4
    assert names[0] in pyperf("hist", exported)
    found = pyperf("check", exported) + pyperf("metadata", exported)
    assert "framework" in found
    stats = pyperf("stats", exported, "--benchmark", names[0])
    row = finished.rows(
        json.loads(next(finished.path("results/manifests").glob("*.json")).read_text())
    )
    assert f"umber of values: {next(row)['batches']}" in stats


def test_pyperf_compares_two(exported: Path, pyperf: Callable[..., str]) -> None:
    """The same cells, with batches that hardly differ, and twice as long ones."""
    content, files = json.loads(exported.read_text()), []
    for factor in (1, 2):
        for benchmark in content["benchmarks"]:
            for run in benchmark["runs"]:
                run["values"] = [factor * (1 + number / 1000) for number in range(5)]
        files.append(exported.with_name(f"{factor}.json"))
        files[-1].write_text(json.dumps(content))
    table = pyperf("compare_to", *files, "--table")
    for benchmark in content["benchmarks"]:
        (row,) = (line for line in table.splitlines() if benchmark["metadata"]["name"] in line)
        assert "2.00x slower" in row
