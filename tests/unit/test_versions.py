"""Which processes of two versions are measured; tests/workflow/test_bump.py measures some."""

import shutil
from pathlib import Path

import pytest

from measurement.record import write_sealed
from plan import environments, pins, versions
from plan.jobs import TimeJob
from plan.matrix import Measurement
from plan.versions import Side
from tests.conftest import ROOT
from tests.unit import planned

CELLS = ["pytorch/fused for training on stacked-lm", "pytorch/cell for forward on stacked-lm"]


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Measurement], Side, Side]:
    """Two versions in an empty project, three processes a cell. Nothing is built: interpreters are this one."""
    planned.empty_project(tmp_path, monkeypatch)
    (tmp_path / "envs").unlink()
    shutil.copytree(ROOT / "envs", tmp_path / "envs")
    config = planned.config(documents=["stacked-lm"], protocol={"processes": 3})
    config["corpus"]["path"] = "known"
    del config["interpreters"]["pytorch"]  # or its pins would decide nothing
    environments.forget()
    files = pins.files_with("torch")
    old, new = versions.sides(pins.Pin("torch", "2.14.0"), "2.14.0", files, None)
    for side in (old, new):
        cells = side.planned(config, ["pytorch", "keras"], CELLS)
        side.choose(cells, again=False, retry=side is new)
    yield cells, old, new
    environments.forget()


def leave(jobs: list[TimeJob]) -> None:
    for job in jobs:
        write_sealed(job.path, {"status": "ok"})


def numbers(*sides: Side) -> list[list[int]]:
    """The processes that are missing of each."""
    return [sorted(job.process for job in side.missing) for side in sides]


def test_again_measures_both_in_turn(both: tuple[list[Measurement], Side, Side]) -> None:
    cells, old, new = both
    leave([*old.missing, *new.missing[:3]])  # of the second cell of the new version nothing
    for side in (old, new):
        side.choose(cells, again=True, retry=True)
    assert [[job.process for job in old.jobs[cell]] for cell in cells] == [[4, 5, 6]] * 2
    assert [[job.process for job in new.jobs[cell]] for cell in cells] == [[4, 5, 6], [1, 2, 3]]
    assert numbers(old, new) == [[4, 4, 5, 5, 6, 6], [1, 2, 3, 4, 5, 6]]


def test_a_bump_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "pytorch.yaml"
    texts, pin = {file: "  - torch==2.14.0\n"}, pins.Pin("torch", "2.14.0")
    with pytest.raises(SystemExit, match=r"^torch is at 2.14.0 already; name .* FROM=version"):
        versions.sides(pin, "2.14.0", texts, None)
    note = versions.note_of("torch")
    note.parent.mkdir(parents=True)
    note.write_text('{"before": "2.13.0", "after": "2.14.0"}')
    old, new = versions.sides(pin, "2.14.0", texts, None)
    assert (old.texts[file], new.texts[file]) == ("  - torch==2.13.0\n", "  - torch==2.14.0\n")
    old, _ = versions.sides(pin, "2.14.0", texts, "1.0")
    assert old.version == "1.0"


def test_more_processes_than_a_protocol_has() -> None:
    """What Snakemake is given has to know the jobs that it is asked for."""
    config = planned.config(
        documents=["stacked-lm"], overrides={"stacked-lm": {"protocol": {"processes": 2}}}
    )
    found = versions.with_processes(config | {"preliminary": True}, 7)
    assert found["protocol"]["processes"] == 7 and found["preliminary"] is False
    assert found["overrides"]["stacked-lm"]["protocol"]["processes"] == 7
    assert config["overrides"]["stacked-lm"]["protocol"]["processes"] == 2
