"""pyperf itself on what `make export` writes."""

import json
import sys
from pathlib import Path

from measurement.record import read_json

from .conftest import Project


def test_pyperf_reads_it_and_compares_two(finished: Project, docs: Path, tmp_path: Path) -> None:
    exported = str(tmp_path / "found.json")
    finished.run([sys.executable, "scripts", "export_results", "pyperf", "--output", exported])

    def pyperf(*arguments: str) -> str:
        return finished.run([docs / "bin/python", "-m", "pyperf", *arguments])

    content = json.loads(Path(exported).read_text())
    names = [each["metadata"]["name"] for each in content["benchmarks"]]
    cells = finished.cells().query("status == 'ok'")
    assert len(names) == len(cells) == 4
    assert "framework" in pyperf("metadata", exported)
    (manifest,) = finished.path("results/manifests").glob("*.json")
    batches = next(finished.rows(read_json(str(manifest))))["batches"]
    stats = pyperf("stats", exported, "--benchmark", names[0])
    assert f"umber of values: {batches}" in stats
    # The same cells, with batches that hardly differ, and twice as long ones.
    files = []
    for factor in (1, 2):
        for benchmark in content["benchmarks"]:
            for run in benchmark["runs"]:
                run["values"] = [factor * (1 + number / 1000) for number in range(5)]
        files.append(str(tmp_path / f"{factor}.json"))
        Path(files[-1]).write_text(json.dumps(content))
    table = pyperf("compare_to", *files, "--table").splitlines()
    for name in names:
        assert any(name in line and "2.00x slower" in line for line in table)
