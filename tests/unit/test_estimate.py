"""What jobs are expected to take, from what others took."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from datasets import ptb
from measurement import shapes
from plan import earlier, estimate, jobs, matrix
from plan.estimate import Estimate, Speed, batches_s, total
from plan.matrix import Measurement

PROTOCOL = {"warmup_batches": 4, "rounds": 6, "least_rounds": 3, "look_s": 1.0, "most_s": None}


def shaped(
    benchmark: str, implementation: str = "pytorch/fused", environment: str = "pytorch"
) -> Measurement:
    return Measurement(benchmark, implementation, environment, "training", "cpu")


CELL = shaped("stacked-lm")


def time_job(cell: Measurement = CELL, **protocol: object) -> jobs.TimeJob:
    order = {"protocol": PROTOCOL | protocol}
    return jobs.TimeJob(f"{cell.name}-1", {}, order=order, threads=2, cell=cell)


def checking(*cells: Measurement) -> jobs.CheckingJob:
    checks = tuple(jobs.CheckJob(cell.name, {}, cell=cell) for cell in cells)
    return jobs.CheckingJob("checks", {}, checks=checks)


def write(folder: Path, kind: str, cell: Measurement = CELL, **fields: object) -> None:
    path = folder / kind / f"{cell.name}-1.0123456789ab.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"identity": vars(cell), "status": "ok", **fields}))


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One timing: 5 s of starting, half a second a batch; its check took 7 s."""
    monkeypatch.setattr(estimate, "EXAMPLES", tmp_path / "none")
    write(tmp_path, "records", seconds=9.0, warmup=[3.0, 0.5, 0.5], samples=[0.5] * 6)
    write(tmp_path, "checks", seconds=7.0)
    return tmp_path


@pytest.fixture
def found(results: Path) -> Estimate:
    return Estimate(str(results), Speed(1.0, 2))  # however fast this machine is


def compared(benchmark: str) -> float:
    """What comparing a model's weights takes in its check."""
    sizes = shapes.Shapes(matrix.benchmarks(matrix.documents())[benchmark])
    return earlier.A_WEIGHT * sizes.parameters()


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ({}, 1.5 + 6 * 1.55),  # to warm up, and in each turn one more
        ({"warmup_batches": 40, "most_s": 100}, 2.5 + 6 * 1.55),
        ({"most_s": 1}, 1.5 + 3 * 1.55),
    ],
)
def test_batches_of_a_protocol(protocol: dict, expected: float) -> None:
    assert batches_s(0.5, PROTOCOL | protocol) == pytest.approx(expected)


def test_another_protocol_is_expected_from_the_same_records(found: Estimate) -> None:
    short, known = found.seconds(time_job())
    assert known and short == pytest.approx(5.0 + 10.8 + estimate.A_JOB)
    assert found.seconds(time_job(rounds=26))[0] == pytest.approx(short + 31)


def test_of_other_shapes_the_nearest_tells(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = {"stacked-lm": 100.0, "ptb-small": 1.0, "ptb-medium": 5.0, "ptb-large": 50.0}
    monkeypatch.setattr(earlier, "_work", work.get)
    samples = {"seconds": 2.0, "warmup": [0.1] * 11, "samples": [0.1] * 10}
    write(results, "records", shaped("ptb-small"), **samples)
    found, start = Estimate(str(results)), 1 + estimate.VERIFYING
    # Of a batch of 0.5 s half is left, and of its start those that lie in it; of 0.1 s five times as much, likewise.
    large, _ = found.seconds(time_job(shaped("ptb-large")))
    assert large == pytest.approx(estimate.A_JOB + 5.0 - start * 0.25 + batches_s(0.25, PROTOCOL))
    medium, _ = found.seconds(time_job(shaped("ptb-medium")))
    assert medium == pytest.approx(estimate.A_JOB + 0.0 + start * 0.4 + batches_s(0.5, PROTOCOL))


def test_of_what_was_never_seen_other_rows_tell(found: Estimate) -> None:
    for strange in (shaped("stacked-lm", environment="pytorch-2019"), shaped("stacked-lm", "x/y")):
        assert found.seconds(time_job(strange)) == (found.seconds(time_job())[0], False)
    elsewhere = Measurement("stacked-lm", "pytorch/fused", "pytorch", "forward", "cpu")
    usual = estimate.USUAL["time"] + estimate.A_JOB
    assert found.seconds(time_job(elsewhere)) == (pytest.approx(usual), False)


def test_a_training_run_without_an_end_is_an_epoch(found: Estimate) -> None:
    order = {"protocol": {"batches": None, "points": []}}
    job = jobs.ConvergenceJob(CELL.name, {}, order=order, cell=CELL)
    shape = matrix.document("stacked-lm")["benchmarks"]["stacked-lm"]
    batches = ptb.SIZES["train"][1] // (shape["batch"] * shape["length"])
    expected = estimate.A_JOB + 5.0 + estimate.VALIDATING + 0.5 * batches
    assert found.seconds(job) == (pytest.approx(expected), True)


def test_checks_of_one_process_add_up_and_two_of_one_core_run_side_by_side(found: Estimate) -> None:
    assert found.seconds(checking(CELL, CELL))[0] == pytest.approx(14 + estimate.A_JOB)
    seconds, unknown = total(found, [checking(CELL), checking(CELL)], cores=2)
    assert seconds == pytest.approx(7.0 + estimate.A_JOB) and unknown == 0


def test_environments_take_what_they_took(results: Path) -> None:
    (results / "environments").mkdir()
    for name, built, seconds in (("pytorch", 40.0, 41.0), ("conda-s", None, 3.0)):
        record = {"environment": name, "build_s": built, "seconds": seconds}
        (results / "environments" / f"{name}-01234567.json").write_text(json.dumps(record))
    found = Estimate(str(results))
    for name, expected in (("pytorch", 40.0), ("conda-s", 3.0), ("other", 25.0)):
        job = jobs.EnvironmentJob(name, {"fingerprint": "0" * 8})
        assert found.seconds(job) == (pytest.approx(expected + estimate.A_JOB), True)


def build_job(benchmark: str, limit_s: float = 600, variant: str = "unrolled") -> jobs.BuildJob:
    order = {"variant": variant, "build_limit_s": limit_s}
    return jobs.BuildJob(f"tvm/{benchmark}/{variant}", {}, order=order)


def test_a_kernel_takes_to_build_what_its_steps_do(results: Path, monkeypatch) -> None:
    """As kernels of its variant do, here, or else in somebody else's table; until the protocol gives it up."""
    columns = f"{COLUMNS},kernel_schedule_s,kernel_build_s"
    row = "tvm,layer-128x{}x128,tvm/unrolled,forward,cpu,ok,m,3,9,1,0,3,0.1,1,{}"
    with_example(results, monkeypatch, columns, row.format(32, 15), row.format(8, 99))
    for benchmark, seconds in (("layer-128x8x128", 1), ("layer-128x128x128", 256)):
        path = results / "kernels" / "tvm" / benchmark / "unrolled.0123456789ab" / "kernel.json"
        path.parent.mkdir(parents=True)
        took = {"schedule": 0.25 * seconds, "compile": 0.75 * seconds}
        record = {"status": "ok", "variant": "unrolled", "seconds": took}
        path.write_text(json.dumps(record))
    found = Estimate(str(results))

    def building(job: jobs.BuildJob) -> float:
        return found.seconds(job)[0] - estimate.A_JOB - estimate.USUAL["kernel"]

    for benchmark, seconds in (
        ("layer-128x32x128", 16),  # its own
        ("layer-128x64x128", 64),
        ("layer-128x8x128", 1),  # here
        ("stack-64x100x64-d4", 600),  # 400 steps: 2,500 s
    ):
        assert building(build_job(benchmark)) == pytest.approx(seconds), benchmark
    assert building(build_job("layer-128x128x128", limit_s=60)) == pytest.approx(60)
    assert building(build_job("cell-512", variant="untuned")) == pytest.approx(0)


def write_table(folder: Path, *lines: str) -> None:
    table = folder / "one" / "cells.csv"
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_text("\n".join(lines) + "\n")


def with_example(folder: Path, patch: pytest.MonkeyPatch, *lines: str) -> Path:
    """A results folder where nothing was measured, beside somebody else's table of these lines."""
    write_table(folder / "reports", *lines)
    patch.setattr(estimate, "EXAMPLES", folder / "reports")
    return folder / "results"


COLUMNS = "environment,benchmark,implementation,phase,device,status,machine,processes,gflops,import_s,build_s,first_step_s,wall_median_s"
TABLE = [
    COLUMNS,
    "tvm,stacked-lm,tvm/fma-peak,forward,cpu,ok,x86_64-2c-abc,3,400,0,0,0.1,0.1",
    "pytorch,stacked-lm,pytorch/fused,training,cpu,ok,x86_64-2c-abc,4,90,1,0,3,0.5",
    "pytorch,stacked-lm,pytorch/cell,training,cpu,failed,x86_64-2c-abc,9,,,,,",
    "keras,stacked-lm,keras/lstm-torch,training,cpu,ok,x86_64-2c-abc,1,9,1,0,3,50",
]


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return with_example(tmp_path, monkeypatch, *TABLE)


def test_somebody_elses_table_tells_before_anything_was_measured(example: Path) -> None:
    found = Estimate(str(example))
    # 1 s of import, 3 of the first step, of which 0.5 are those of a batch; all batches and those to verify.
    around = estimate.A_JOB + estimate.A_PROCESS
    batches = estimate.VERIFYING * 0.5 + batches_s(0.5, PROTOCOL)
    assert found.seconds(time_job()) == (pytest.approx(around + 1 + 2.5 + batches), True)
    # Two checks of a process import once.
    expected = around + 1 + 2 * (3 + estimate.A_CHECK + compared("stacked-lm"))
    assert found.seconds(checking(CELL, CELL))[0] == pytest.approx(expected)
    # Further processes, as its rows needed them that had enough for an interval.
    assert found.further == pytest.approx(3.5 / 3 - 1)


def test_a_machine_of_half_the_speed_takes_twice_as_long(example: Path) -> None:
    turns = PROTOCOL["rounds"] * estimate.A_TURN

    def seconds(speed: Speed | None) -> float:
        """Without what a process takes on any machine."""
        found, known = Estimate(str(example), speed).seconds(time_job(look_s=0.1))
        assert known
        return found - estimate.A_JOB - estimate.A_PROCESS - turns

    same = seconds(None)
    assert seconds(Speed(400.0, 2)) == pytest.approx(same)
    assert seconds(Speed(200.0, 2)) == pytest.approx(2 * same)
    # One core as fast as one of the example's: batches take twice as long, and the second of import does not.
    batches = estimate.VERIFYING * 0.5 + batches_s(0.5, PROTOCOL | {"look_s": 0.1}) - turns
    start = same - batches
    assert seconds(Speed(200.0, 1)) == pytest.approx(start + 2 * batches, abs=0.6)
    slow, fast = (Estimate(str(example), Speed(rate, 2)) for rate in (100.0, 400.0))
    few, many = (jobs.TuneJob("t", {}, order={"trials": trials}) for trials in (8, 200))
    assert slow.seconds(few)[0] == pytest.approx(4 * fast.seconds(few)[0], rel=0.1)
    more = fast.seconds(many)[0] - fast.seconds(few)[0]
    assert more == pytest.approx(192 * estimate.A_TRIAL)


def test_how_fast_this_machine_is(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The middle of its records' readings; without any, the fastest of what processes read since the machine was started;
    before any did, of some readings now."""
    rates = [210.0, 500.0, 490.0, 200.0, 480.0]
    readings = [{"gflops": each, "threads": 2, "by": "c"} for each in rates]
    clock = SimpleNamespace(read=iter(readings).__next__)
    monkeypatch.setattr(estimate.machine, "usable_cores", lambda: 2)
    monkeypatch.setattr(estimate.yardstick, "Yardstick", lambda threads: clock)
    monkeypatch.setattr(estimate.yardstick, "remembered", list)
    assert estimate.speed_here(str(results)) == Speed(500.0, 2)
    read = [
        {"gflops": 450.0, "threads": 2, "by": "c"},
        {"gflops": 900.0, "threads": 2, "by": "numpy"},
    ]
    monkeypatch.setattr(estimate.yardstick, "remembered", lambda: read)
    assert estimate.speed_here(str(results)) == Speed(450.0, 2)
    for number, (rate, threads, by) in enumerate(
        ((190.0, 2, "c"), (210.0, 2, "c"), (400.0, 4, "c"))
    ):
        reading = {"gflops": rate, "threads": threads, "by": by}
        file = results / "records" / f"{number}.json"
        file.write_text(json.dumps({"yardstick": {"before": reading, "after": None}}))
    assert estimate.speed_here(str(results)) == Speed(200.0, 2)


def test_checks_of_other_shapes_grow_with_the_root_of_the_work_and_with_weights(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(earlier, "_work", {"stacked-lm": 4.0, "ptb-large": 64.0}.get)
    seconds, known = Estimate(str(results)).seconds(checking(shaped("ptb-large")))
    small, large = compared("stacked-lm"), compared("ptb-large")
    assert 1 < small < 3 and 20 < large < 40  # 5 and 66 million
    assert known and seconds == pytest.approx((7.0 - small) * 4 + large + estimate.A_JOB)


def test_what_a_run_found_to_be_unsupported_or_incorrect_takes_no_time(example: Path) -> None:
    """On all shapes, where none was timed on any; not where no such device took part. It is checked again where it failed."""
    cells = ["ptb-small,pytorch/cudnn,training,cpu,", "ptb-small,pytorch/cudnn,training,gpu,"]
    cells = [f"{cell}unsupported" for cell in cells]
    cells.append("flexible-slstm,pytorch/fused,training,cpu,incorrect")
    rows = (f"pytorch,{cell},x86_64-2c-abc,,,,,," for cell in cells)
    write_table(estimate.EXAMPLES, *TABLE, *rows)
    found = Estimate(str(example))
    for cell in (shaped("ptb-large", "pytorch/cudnn"), shaped("flexible-slstm")):
        assert found.seconds(time_job(cell)) == (pytest.approx(estimate.A_JOB), True)
    assert found.seconds(checking(shaped("flexible-slstm")))[0] > 1
    gpu = Measurement("ptb-small", "pytorch/cudnn", "pytorch", "training", "gpu")
    for cell in (shaped("flexible-lstm"), gpu):
        assert found.seconds(time_job(cell))[0] > 1
