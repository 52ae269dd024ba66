"""What jobs are expected to take, from what others took."""

import json
from pathlib import Path

import pytest

from plan import estimate
from plan.estimate import Estimate, batches_s, total
from plan.jobs import CheckingJob, CheckJob, TimeJob
from plan.matrix import Cell

PROTOCOL = {
    "warmup_batches": 4,
    "timed_batches": 10,
    "least_s": 0,
    "most_s": None,
    "least_batches": 1,
}
CELL = Cell("stacked-lm", "pytorch/fused", "pytorch", "training", "cpu")


def time_job(cell: Cell = CELL, **protocol: object) -> TimeJob:
    order = {"protocol": PROTOCOL | protocol}
    return TimeJob(f"{cell.name}-1", {}, order=order, threads=2, cell=cell)


def write(folder: Path, kind: str, **fields: object) -> None:
    identity = {key: getattr(CELL, key) for key in CELL.__dataclass_fields__}
    path = folder / kind / f"{CELL.name}-1.0123456789ab.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"identity": identity, "status": "ok", **fields}))


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One timing: 5 s of starting, half a second a batch; its check took 7 s."""
    monkeypatch.setattr(estimate, "EXAMPLE", tmp_path / "none.csv")
    write(tmp_path, "records", seconds=9.0, warmup=[3.0, 0.5, 0.5], samples=[0.5] * 6)
    write(tmp_path, "checks", seconds=7.0)
    return tmp_path


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ({}, 7.0),
        ({"least_s": 20}, 40.0),
        ({"most_s": 3}, 2 + 3),
        ({"most_s": 1, "least_batches": 8}, 1 + 4),
    ],
)
def test_batches_of_a_protocol(protocol: dict, expected: float) -> None:
    assert batches_s(0.5, PROTOCOL | protocol) == expected


def test_another_protocol_is_expected_from_the_same_records(results: Path) -> None:
    found = Estimate(str(results))
    short, known = found.seconds(time_job())
    assert known and short == pytest.approx(5.0 + 7.0 + estimate.A_JOB)
    assert found.seconds(time_job(timed_batches=110))[0] == pytest.approx(short + 50)


def test_the_same_implementation_elsewhere_tells(results: Path) -> None:
    found = Estimate(str(results))
    other = Cell("1x320-ce-short", "pytorch/fused", "pytorch", "training", "cpu")
    assert found.seconds(time_job(other)) == found.seconds(time_job())
    strange = Cell("stacked-lm", "pytorch/fused", "pytorch-2019", "training", "cpu")
    assert found.seconds(time_job(strange))[1] is False


def test_checks_of_one_process_add_up(results: Path) -> None:
    check = CheckJob(CELL.name, {}, threads=2, cell=CELL)
    checking = CheckingJob("checks", {}, checks=(check, check))
    assert Estimate(str(results)).seconds(checking)[0] == pytest.approx(14 + estimate.A_JOB)


def test_two_jobs_of_one_core_run_side_by_side(results: Path) -> None:
    check = CheckJob(CELL.name, {}, threads=1, cell=CELL)
    seconds, unknown = total(Estimate(str(results)), [check, check], cores=2)
    assert seconds == pytest.approx(7.0) and unknown == 0


def test_somebody_elses_table_tells_before_anything_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "cells.csv"
    columns = "environment,benchmark,implementation,phase,device,status,import_s,build_s,first_step_s,wall_median_s"
    table.write_text(f"{columns}\npytorch,stacked-lm,pytorch/fused,training,cpu,ok,1,0,3,0.5\n")
    monkeypatch.setattr(estimate, "EXAMPLE", table)
    assert Estimate(str(tmp_path / "results")).seconds(time_job())[1] is True
