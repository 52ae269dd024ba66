"""What `make prune` deletes: results that no configuration asks for."""

import sys
from pathlib import Path

import pytest

import prune_results
from plan import configuration
from tests.unit import planned


def test_what_a_configuration_asks_for_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    planned.empty_project(tmp_path, monkeypatch)
    monkeypatch.setattr(prune_results, "CONFIGURATIONS", ["config/timeline.yaml"])
    asked = prune_results.asked_for([configuration.given("config/timeline.yaml", [])])
    kept = next(path for path in asked if "pytorch-2021" in str(path) and "records" in str(path))
    other = kept.with_name("training-cpu-1.000000000000.json")
    kept.parent.mkdir(parents=True)
    for file in (kept, other):
        file.write_text("{}")
    monkeypatch.setattr(sys, "argv", ["prune", "--yes"])
    prune_results.main()
    assert kept.exists() and not other.exists()
    assert capsys.readouterr().out.startswith(
        "1 results that nothing asks for, 0.0 MiB, such as results/"
    )
