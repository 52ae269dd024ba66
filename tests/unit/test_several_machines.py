"""Several machines in one report: each one's numbers are what they would be alone."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from measurement.record import read_json, write_sealed
from plan import configuration
from plan.matrix import Measurement
from reporting import results

from . import hand_made

HERE, THERE = hand_made.MACHINE["machine"], "other-8c-def456"


def there(cell: Measurement, process: int, record: dict) -> None:
    """Another machine: faster, some implementations more than others; one fails."""
    record["machine"] = record["machine"] | {"cores": 8}
    factor = 2 + len(cell.implementation) / 10
    record["samples"] = [seconds / factor for seconds in record["samples"]]
    if cell.implementation == "pytorch/cudnn":
        hand_made.bad("failed", "RuntimeError: no such thing")(record)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Projects of each machine alone, and of the first with the other's results also reported."""
    found = {name: tmp_path_factory.mktemp(name) for name in ("here", "there", "both")}
    with pytest.MonkeyPatch.context() as patch:
        hand_made.project(found["here"], processes=3)
        hand_made.analyse(found["here"], patch, 3)
        hand_made.project(found["there"], there, processes=3, machine=THERE)
        hand_made.tabulate(found["there"], patch, 3, machine=THERE)
        (listed,) = (found["there"] / "results" / "manifests").glob("*.json")
        manifest = read_json(str(listed))
        manifest["protocol"]["rounds"] = 7
        write_sealed(str(listed), manifest)
        hand_made.project(found["both"], processes=3)
        also = (found["there"] / "results",)
        hand_made.analyse(found["both"], patch, 3, also_report=also)
        hand_made.render(found["both"], patch)
    return found


def test_rows_are_those_of_each_machine_alone(folders: dict[str, Path]) -> None:
    joint = hand_made.table(folders["both"])
    for machine, name in ((HERE, "here"), (THERE, "there")):
        own = joint[joint["machine"] == machine].reset_index(drop=True)
        pd.testing.assert_frame_equal(own, hand_made.table(folders[name]), check_dtype=False)


def test_pages_are_of_one_machine(folders: dict[str, Path]) -> None:
    """What a document's page says of this run's is what it says without the other."""
    for section in ("table", "added", "conclusions", "missing"):
        joint, alone = (hand_made.part(folders[n], "stacked-lm", section) for n in ("both", "here"))
        assert joint == alone


def test_pages_know_both(folders: dict[str, Path]) -> None:
    report = folders["both"] / "results" / "report"
    names = ["Abacus 9000, AVX, 2 cores", "Abacus 9000, AVX, 8 cores"]
    assert names[0] in (report / "stacked-lm.md").read_text()
    assert names[1] not in (report / "stacked-lm.md").read_text()
    machines = (report / "machines.md").read_text()
    assert all(f"[{name}](" in machines for name in names)
    with pytest.MonkeyPatch.context() as patch:
        hand_made.render_machine(folders["both"], patch, THERE)
    pages = (report / "machine.md", report / "machines" / THERE / "machine.md")
    here, there = map(Path.read_text, pages)
    timed = f"and {hand_made.BATCHES} turns", "and 7 turns"
    assert [text in here for text in timed] == [True, False]
    assert [text in there for text in timed] == [False, True]


def test_other_parameters_are_no_number_of_the_benchmark(tmp_path: Path, monkeypatch) -> None:
    def change(cell: Measurement, process: int, record: dict) -> None:
        if cell.implementation == "pytorch/cell":
            record["benchmark"] = record["benchmark"] | {"hidden": 7}

    hand_made.project(tmp_path, change)
    hand_made.tabulate(tmp_path, monkeypatch)
    table = hand_made.table(tmp_path)
    own = table[(table["implementation"] == "pytorch/cell") & (table["device"] == "cpu")]
    assert set(own["status"]) == {"not-run"} and own["wall_s"].isna().all()
    said = "measured there with other parameters of `" + own["benchmark"] + "`"
    assert all(map(str.startswith, own["reason"], said))


def test_a_machine_takes_part_once(folders: dict[str, Path]) -> None:
    own = folders["here"] / "results" / "manifests" / f"stacked-lm-{HERE}.json"
    with pytest.raises(SystemExit) as stop:
        results.of_document("stacked-lm", [own], [folders["both"] / "results"])
    line = str(stop.value)
    assert f"has records of the machine {HERE}" in line and "leave one out" in line
    assert "\n" not in line


def change_manifest(folder: Path, **changes: object) -> None:
    (path,) = (folder / "manifests").glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_folders_that_are_refused_before_anything_runs(folders: dict[str, Path], tmp_path) -> None:
    folder = shutil.copytree(folders["there"] / "results", tmp_path / "there")
    assert not list(configuration.unreadable(str(folder)))
    name = read_json(str(next((folder / "manifests").iterdir())))["cells"][0]["records"][0]
    first = folder / name
    text = first.read_text()
    other = json.loads(text) | {"schema_version": 99}
    for change, message in (
        (lambda: first.write_text(text[:-9]), "is damaged (it is not JSON: "),
        (lambda: write_sealed(str(first), other), "has schema 99, this workflow reads 2"),
        (lambda: change_manifest(folder, cells=[]), "cells: "),
        (lambda: change_manifest(folder, schema_version=1), "has schema 1, this workflow reads 2"),
    ):
        change()
        (line,) = configuration.unreadable(str(folder))
        assert message in line and str(folder) in line
