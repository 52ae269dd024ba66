"""Several machines in one report: each one's numbers are what they would be alone."""

import json
import shutil
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import collect_records
import pandas as pd
import pytest

import pack_results
from plan.matrix import Cell
from reporting import results

from . import hand_made

HERE, THERE = hand_made.MACHINE["machine"], "other-8c-def456"
DOCUMENTS = ["stacked-lm", "tvm-lstm"]


def there(cell: Cell, process: int, record: dict) -> None:
    """Another machine: faster, some implementations more than others; one fails."""
    record["machine"] = hand_made.MACHINE | {"machine": THERE, "cores": 8}
    factor = 2 + len(cell.implementation) / 10
    record["samples"] = [seconds / factor for seconds in record["samples"]]
    if cell.implementation in ("pytorch/cudnn", "onnxruntime/lstm"):
        hand_made.bad("failed", "RuntimeError: no such thing")(record)


Report = tuple[pd.DataFrame, dict, Path]


def report(document: str, folder: Path, change: hand_made.Change | None, *also: Path) -> Report:
    """(cells, context, results folder) of a project collected; rendered too, if it is the first machine's."""
    with pytest.MonkeyPatch.context() as patch:
        hand_made.project(folder, change, processes=3, document=document)
        how = {"processes": 3, "document": document, "also_report": also}
        hand_made.collect(folder, patch, **how)
        if not change:
            hand_made.render(folder, patch)
    found = folder / "results"
    return pd.read_parquet(found / "cells.parquet"), read_context(found), found


def read_context(folder: Path) -> dict:
    return json.loads((folder / "context.json").read_text())


@pytest.fixture(scope="module")
def reports_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict]:
    """One document's reports: of each machine alone, and of both on the first."""

    @cache
    def make(document: str) -> dict[str, Report | str]:
        folders = [tmp_path_factory.mktemp(name) for name in ("here", "there", "both")]
        found = {
            "document": document,
            "here": report(document, folders[0], None),
            "there": report(document, folders[1], there),
        }
        return found | {"both": report(document, folders[2], None, found["there"][2])}

    return make


@pytest.fixture(params=DOCUMENTS)
def reports(request: pytest.FixtureRequest, reports_of: Callable[[str], dict]) -> dict:
    return reports_of(request.param)


@pytest.fixture
def stacked(reports_of: Callable[[str], dict]) -> dict:
    return reports_of("stacked-lm")


def test_rows_are_those_of_each_machine_alone(reports: dict) -> None:
    joint, _, _ = reports["both"]
    for machine, alone in ((HERE, reports["here"][0]), (THERE, reports["there"][0])):
        own = joint[(joint["machine"] == machine) & (joint["device"] == "cpu")]
        expected = alone[alone["device"] == "cpu"]
        columns = joint.columns.drop("records")
        pd.testing.assert_frame_equal(
            own[columns].reset_index(drop=True), expected[columns].reset_index(drop=True)
        )
    assert not ((joint["machine"] == THERE) & (joint["device"] == "gpu")).any()


@pytest.mark.parametrize("key", ["ratios", "then_and_now", "overheads", "break_even"])
def test_what_is_computed_of_several_rows_too(reports: dict, key: str) -> None:
    joint = reports["both"][1][key]
    for machine, alone in ((HERE, "here"), (THERE, "there")):
        own = [entry for entry in joint if (entry["machine"], entry["device"]) == (machine, "cpu")]
        assert own == [entry for entry in reports[alone][1][key] if entry["device"] == "cpu"]


def test_claims_are_decided_on_each_machine(reports: dict) -> None:
    """And no machine has a column where it has no rows."""
    decided = {name: reports[name][1]["claims"] for name in ("here", "there", "both")}
    for here, there_, both in zip(decided["here"], decided["there"], decided["both"], strict=True):
        for one, other, joint in zip(here["claims"], there_["claims"], both["claims"], strict=True):
            assert one["verdicts"].items() <= joint["verdicts"].items()
            added = joint["verdicts"].keys() - one["verdicts"].keys()
            assert added == {
                source
                for source in other["verdicts"]
                if THERE in source and both["document"] == reports["document"]
            }
            assert all(joint["verdicts"][source] == other["verdicts"][source] for source in added)


def test_pages_show_both(reports: dict) -> None:
    folder = reports["both"][2] / "report"
    page = (folder / f"{reports['document']}.md").read_text()
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert sum(THERE in line for line in headings) > 2
    assert f"# Also reported: {THERE}" in headings
    assert "no such thing" in page
    index = (folder / "index.md").read_text()
    assert f"and elsewhere on `{THERE}`" in index
    alone = (reports["here"][2] / "report" / f"{reports['document']}.md").read_text()
    assert "Machine |" not in alone and "Also reported" not in alone
    # Every row of its tables stands here too, behind the machine's name if that is a column; verdicts have more columns.
    rows = [line[1:] for line in alone.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if "index.md#" not in row and not row.startswith(" Claim ")]
    assert len(rows) > 50 and [row for row in rows if row not in page] == []


def test_raw_samples_of_both_go_along(reports: dict) -> None:
    cells, _, folder = reports["both"]
    with zipfile.ZipFile(folder / "records.zip") as packed:
        names = packed.namelist()
    measured = cells[cells["records"] != ""]
    assert set(measured["machine"]) == {HERE, THERE}
    for row in measured.itertuples():
        stem = row.records.removesuffix("*.json")
        assert {f"{stem}{process}.json" for process in (1, 2, 3)} <= set(names)
    assert len(names) == 3 * len(measured)
    assert {record["machine"]["machine"] for record in results.records(folder)} == {HERE}


def combined(folder: Path, there: Path, change: Callable[[Cell, dict], object]) -> Report:
    """The report of both machines after a change to the second one's records."""
    copy = hand_made.repack(shutil.copytree(there, folder / "there"), change)
    (folder / "both").mkdir()
    return report("stacked-lm", folder / "both", None, copy)


def test_part_of_a_document_elsewhere_and_on_a_gpu(stacked: dict, tmp_path: Path) -> None:
    """The GPU's tables and figures appear, though none takes part in this run. What is not there has a reason."""

    def change(cell: Cell, record: dict) -> bool:
        record["identity"]["device"] = "gpu"
        if cell.implementation == "pytorch/cell":
            record["benchmark"]["hidden"] += 1
        return cell.implementation in ("pytorch/fused", "pytorch/cell")

    there = shutil.copytree(stacked["there"][2], tmp_path / "original")
    context = read_context(there)
    context["config"]["devices"] = ["cpu", "gpu"]
    (there / "context.json").write_text(json.dumps(context))
    cells, found, folder = combined(tmp_path, there, change)
    assert found["devices"] == ["cpu", "gpu"]
    drawn = {path.stem.rpartition("-")[2] for path in (folder / "report/figures").glob("*.svg")}
    assert drawn == {"cpu", "gpu"}
    own = cells[cells["machine"] == THERE]
    assert set(own["device"]) == {"gpu"}
    assert set(own.loc[own["status"] == "ok", "implementation"]) == {"pytorch/fused"}
    reasons = own[own["status"] != "ok"].groupby("implementation")["reason"].unique()
    (other,) = reasons.pop("pytorch/cell")[:1]
    assert other.startswith("measured there with other parameters of `stacked-lm")
    assert {reason for found in reasons for reason in found} == {"not among this machine's results"}
    index = (folder / "report" / "index.md").read_text()
    assert f"cells of `stacked-lm` on {THERE} are *not-run*: not among this machine's" in index


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda cell, record: record.update(schema_version=2),
            "has record schema 2, this workflow reads 1; use the version of the workflow that",
        ),
        (
            lambda cell, record: record["machine"].update(machine=HERE),
            f"has records of the machine {HERE}, as has this run; leave one out",
        ),
        (lambda cell, record: record.update(samples=[]), "is not a valid record: samples: [] "),
    ],
)
def test_folders_that_are_refused(
    stacked: dict,
    tmp_path: Path,
    change: Callable[[Cell, dict], object],
    message: str,
) -> None:
    folder = hand_made.repack(shutil.copytree(stacked["there"][2], tmp_path / "there"), change)
    with pytest.raises(SystemExit, match="there") as stopped:
        collect_records.also_reported([str(folder)], [HERE])
    assert message in str(stopped.value)
    assert "\n" not in str(stopped.value)


def test_a_pack_is_read_as_the_folder_it_was_made_of(
    stacked: dict,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    """Also of a report that shows other machines: those are theirs to send."""
    folder = shutil.copytree(stacked["both"][2], tmp_path / "results")
    monkeypatch.setattr("sys.argv", ["pack_results.py", str(folder)])
    pack_results.main()
    archive = folder / f"results-{HERE}.zip"
    assert str(archive) in capsys.readouterr().out
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
    unpacked = tmp_path / f"results-{HERE}"
    assert results.records(unpacked) == results.records(stacked["here"][2])


def test_what_is_no_results_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["pack_results.py", str(tmp_path)])
    for stops in (pack_results.main, lambda: results.require_readable([str(tmp_path)])):
        with pytest.raises(SystemExit, match=r"is no results folder: it has no records\.zip"):
            stops()
