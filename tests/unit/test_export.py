"""What other tools are given: every cell that has a number, with all its batches. tests/workflow/test_export.py has pyperf
itself read it."""

import json
import re
import statistics
from pathlib import Path

import pandas as pd
import pytest
from pyarrow import parquet

from commands import export_results
from plan.matrix import Measurement
from reporting import tabulate
from tests.unit import hand_made

SOME = {"benchmarks": ["stacked-lm"]}  # of the document's: all are many
BROKEN = hand_made.cells("stacked-lm")[9]


def change(cell: Measurement, process: int, record: dict) -> None:
    """Batches that differ, and a cell that lost a process."""
    record["samples"] = [s * (1 + number / 100) for number, s in enumerate(record["samples"])]
    if cell == BROKEN and process == 3:
        hand_made.bad("failed", "RuntimeError: no kernel image")(record)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = hand_made.project(tmp_path_factory.mktemp("project"), change, 3, **SOME)
    with pytest.MonkeyPatch.context() as patch:
        hand_made.tabulate(found, patch, processes=3, **SOME)
    return found


def export(folder: Path, patch: pytest.MonkeyPatch, *arguments: str) -> object:
    patch.chdir(folder)
    patch.setattr("sys.argv", ["export_results", *arguments])
    export_results.main()
    output = arguments[arguments.index("--output") + 1] if "--output" in arguments else None
    return json.loads((folder / (output or f"results/{arguments[0]}.json")).read_text())


def table(folder: Path) -> pd.DataFrame:
    found = hand_made.table(folder)
    return found[found["status"] == "ok"].reset_index()


def test_pyperf_gets_every_batch_of_every_process(folder: Path, monkeypatch, capsys) -> None:
    found = export(folder, monkeypatch, "pyperf")
    wanted = table(folder)
    assert len(wanted) > 10
    names = [each["metadata"]["name"] for each in found["benchmarks"]]
    assert names == [Measurement.of(row).name for row in wanted.to_dict("records")]
    assert BROKEN.name not in names
    for each, median_s in zip(found["benchmarks"], wanted["wall_median_s"], strict=True):
        assert len(each["runs"]) == 3
        middles = [statistics.median(run["values"]) for run in each["runs"]]
        assert statistics.median(middles) == pytest.approx(median_s)
    cells, without = re.findall(r"\d+", capsys.readouterr().out)
    assert (int(cells), int(without)) == (len(wanted), len(hand_made.table(folder)) - len(wanted))


def test_benchmark_action_gets_the_number_of_the_tables(folder: Path, monkeypatch) -> None:
    found = export(folder, monkeypatch, "benchmark-action", "--output", "elsewhere/found.json")
    wanted = table(folder)
    assert [each["value"] for each in found] == pytest.approx([*wanted["wall_median_s"]])
    ends = zip(wanted["wall_low_s"], wanted["wall_high_s"], strict=True)
    assert [each["range"] for each in found] == [f"{low:.4g} to {high:.4g}" for low, high in ends]
    assert {each["unit"] for each in found} == {"s"}
    assert all(set(each) == {"name", "unit", "value", "range", "extra"} for each in found)


def test_names_tell_machines_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a folder has results of several."""
    machines = [hand_made.MACHINE["machine"], "other-2c-def456"]
    other = hand_made.project(folder, change, 3, machine=machines[1], **SOME)
    monkeypatch.chdir(folder)
    config = hand_made.configuration("stacked-lm", 3, **SOME)
    second = hand_made.write_manifest(other, "stacked-lm", config, machines[1])
    try:
        names = [each["name"] for each in export(folder, monkeypatch, "benchmark-action")]
    finally:
        second.unlink()
    assert len(set(names)) == len(names) == 2 * len(table(folder))
    assert {name.partition("/")[0] for name in names} == {*machines}


def test_a_folder_without_numbers_is_one_line(tmp_path: Path, monkeypatch) -> None:
    with pytest.raises(SystemExit, match="is not a results folder"):
        export(tmp_path, monkeypatch, "pyperf", "nowhere")
    hand_made.project(tmp_path, lambda *each: hand_made.bad("failed", "no")(each[-1]), **SOME)
    monkeypatch.chdir(tmp_path)
    config = hand_made.configuration("stacked-lm", **SOME)
    hand_made.write_manifest(tmp_path, "stacked-lm", config)
    with pytest.raises(SystemExit, match="no measurement has a number"):
        export(tmp_path, monkeypatch, "pyperf")


def test_a_parquet_file_says_what_its_columns_are(folder: Path) -> None:
    schema = parquet.read_schema(folder / "results/documents/stacked-lm/cells.parquet")
    assert schema.names == tabulate.COLUMNS
    said = {field.name: field.metadata for field in schema}
    assert all(each[b"description"] for each in said.values())
    assert said["wall_median_s"][b"unit"] == b"s"
    assert said["status"][b"unit"] == b""


def test_texts_and_numbers_are_where_columns_say_so(folder: Path) -> None:
    found = hand_made.table(folder)
    for name, about in tabulate.ABOUT.items():
        values = found[name].dropna()
        if about.get("type") in ("number", "integer") and len(values):
            assert pd.api.types.is_numeric_dtype(values), name
        if "enum" in about:
            assert set(values) <= set(about["enum"]), name
