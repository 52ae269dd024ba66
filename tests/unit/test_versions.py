"""Which processes of two versions are measured, in which order, and what stands in envs/ meanwhile."""

import shutil
from pathlib import Path

import pytest

from measurement.record import write_sealed
from plan import environments, pins, versions
from plan.jobs import EnvironmentJob, TimeJob
from plan.matrix import Measurement
from plan.planner import Plan
from plan.register import Register
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


def test_both_are_missing_and_take_turns(both: tuple[list[Measurement], Side, Side]) -> None:
    cells, old, new = both
    assert {cell.implementation for cell in cells} == {"pytorch/fused", "pytorch/cell"}
    assert (old.version, new.version) == ("2.13.0", "2.14.0")
    assert {job.path for job in old.missing}.isdisjoint(job.path for job in new.missing)
    assert numbers(old, new) == [[1, 1, 2, 2, 3, 3]] * 2
    # One run knows both, row by row, whatever stands in envs/.
    config = versions.beside(old.plan.config, old)
    (instead,) = config["beside"]
    environments.forget()
    plans = [Plan(config), Plan(config, instead=instead)]
    register = Register(plans[0], beside=plans[1:])
    for job, before in zip(new.missing, old.missing, strict=True):
        found = register[job.digest], register[before.digest]
        assert [each.path for each in found] == [job.path, before.path]
        assert register.place(found[0]) == register.place(found[1]) > 0
        checkings = [register.inputs(each) for each in found]
        assert set(checkings[0]).isdisjoint(checkings[1])  # each in a process of its own
        environment = found[1].needed(EnvironmentJob)
        assert register.environment("pytorch", environment.parts["fingerprint"]) is environment
        assert "torch==2.13.0" in Path(environment.order["source"]).read_text()
    assert "torch==2.14.0" in Path("envs/keras.yaml").read_text()
    old.put()
    assert Path("envs/pytorch.yaml").read_text() == (ROOT / "envs/pytorch.yaml").read_text()


def test_what_is_there_is_not_measured_again(both: tuple[list[Measurement], Side, Side]) -> None:
    cells, old, new = both
    extra = old.plan.timing(cells[0], 4)  # one more than the protocol asks for
    leave([*old.missing, extra])
    for side in (old, new):
        side.choose(cells, again=False, retry=True)
    assert numbers(old, new) == [[], [1, 1, 2, 2, 3, 3]]
    assert [len(old.jobs[cell]) for cell in cells] == [4, 3]
    leave(new.missing)
    new.choose(cells, again=False, retry=True)
    assert not (old.missing or new.missing)


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


def test_more_processes_than_a_protocol_has(both: tuple[list[Measurement], Side, Side]) -> None:
    """What Snakemake is given has to know the jobs that it is asked for."""
    config = planned.config(
        documents=["stacked-lm"], overrides={"stacked-lm": {"protocol": {"processes": 2}}}
    )
    found = versions.with_processes(config | {"preliminary": True}, 7)
    assert found["protocol"]["processes"] == 7 and found["preliminary"] is False
    assert found["overrides"]["stacked-lm"]["protocol"]["processes"] == 7
    assert config["overrides"]["stacked-lm"]["protocol"]["processes"] == 2
