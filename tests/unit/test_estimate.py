"""What jobs are expected to take, from what others took."""

import json
from pathlib import Path

import pytest

from plan import estimate
from plan.estimate import Estimate, batches_s, total
from plan.jobs import CheckingJob, CheckJob, ConvergenceJob, EnvironmentJob, TimeJob, TuneJob
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
    check = CheckJob(CELL.name, {}, cell=CELL)
    checkings = [CheckingJob(name, {}, threads=1, checks=(check,)) for name in "ab"]
    seconds, unknown = total(Estimate(str(results)), checkings, cores=2)
    assert seconds == pytest.approx(7.0 + estimate.A_JOB) and unknown == 0


def test_environments_take_what_they_took(results: Path) -> None:
    (results / "environments").mkdir()
    for name, built, seconds in (("pytorch", 40.0, 41.0), ("conda-s", None, 3.0)):
        record = {"environment": name, "build_s": built, "seconds": seconds}
        (results / "environments" / f"{name}-01234567.json").write_text(json.dumps(record))
    found = Estimate(str(results))
    for name, expected in (("pytorch", 40.0), ("conda-s", 3.0), ("other", 25.0)):
        job = EnvironmentJob(name, {"fingerprint": "0" * 8})
        assert found.seconds(job) == (pytest.approx(expected + estimate.A_JOB), True)


def test_tuning_takes_its_trials(results: Path) -> None:
    few, many = (TuneJob("t", {}, order={"trials": trials}) for trials in (8, 200))
    found = Estimate(str(results))
    assert found.seconds(many)[0] - found.seconds(few)[0] == pytest.approx(192 * estimate.A_TRIAL)


def test_somebody_elses_table_tells_before_anything_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "cells.csv"
    columns = "environment,benchmark,implementation,phase,device,status,import_s,build_s,first_step_s,wall_median_s"
    table.write_text(f"{columns}\npytorch,stacked-lm,pytorch/fused,training,cpu,ok,1,0,3,0.5\n")
    monkeypatch.setattr(estimate, "EXAMPLE", table)
    found = Estimate(str(tmp_path / "results"))
    # 1 s of import, 3 of the first step, of which 0.5 are those of a batch; 4 + 10 batches and those to verify.
    around = estimate.A_JOB + estimate.A_PROCESS
    batches = (4 + 10 + estimate.VERIFYING) * 0.5
    assert found.seconds(time_job()) == (pytest.approx(around + 1 + 2.5 + batches), True)
    # Two checks of a process import once.
    check = CheckJob(CELL.name, {}, cell=CELL)
    checking = CheckingJob("checks", {}, checks=(check, check))
    assert found.seconds(checking)[0] == pytest.approx(around + 1 + 2 * (3 + estimate.A_CHECK))
    # A training run is batches of the same cell.
    order = {"protocol": {"batches": 100, "points": []}}
    run = ConvergenceJob(CELL.name, {}, order=order, cell=CELL)
    assert found.seconds(run)[0] > 100 * 0.5 and found.seconds(run)[1] is True
