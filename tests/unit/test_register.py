"""The register: what rules ask for is what is missing."""

import functools
import itertools
from pathlib import Path

import pytest

from measurement.record import write_sealed
from plan import listing, memory
from plan.jobs import Job
from plan.planner import Plan
from plan.register import Register
from tests.unit import planned

LM, LAYERS = "stacked-lm", "tvm-lstm"


@pytest.fixture(autouse=True)
def in_empty_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned.empty_project(tmp_path, monkeypatch)


def plan(**changes: object) -> Plan:
    selected = {
        LM: {"benchmarks": [LM], "implementations": ["pytorch/* in pytorch"]},
        LAYERS: {"benchmarks": ["cell-512"], "implementations": ["tvm/template-tuned"]},
    }
    return Plan(planned.config(documents=[LM, LAYERS], overrides=selected, **changes))


def leave(job: Job, **more: object) -> None:
    """The result of a job."""
    write_sealed(job.path, {"status": "ok", "parts": job.parts, **more})


class TestElsewhere:
    """A node of a cluster asks for a job of which it knows the digest only."""

    def test_every_kind(self) -> None:
        register = Register(asked := plan())
        register.asked(LM, {})
        for digest, job in register._jobs.items():
            assert Register(asked)[digest].path == job.path

    def test_a_further_process_of_a_noisy_cell(self) -> None:
        config = planned.config(documents=[LM])["protocol"] | {"processes": 3, "most_processes": 5}
        asked = plan(protocol=config)
        noisy = asked.cells(LM)[0]
        register = Register(asked)
        register.asked(LM, {noisy.name: 5})
        job = asked.timing(noisy, 5)
        assert Register(plan(protocol=config))[job.digest].path == job.path

    def test_unknown_digest(self) -> None:
        with pytest.raises(SystemExit) as stop:
            Register(plan())["0" * 12]
        assert "0" * 12 in stop.value.code and "\n" not in stop.value.code


def test_rows_that_are_compared_are_timed_together() -> None:
    """What was asked for first comes first; nothing has a place that was not asked for."""
    here = Register(asked := plan())
    here.asked(LM)
    timings = asked.timings(LM)
    assert [here.place(job) for job in timings] == list(range(1, len(timings) + 1))
    compared = [(job.cell.benchmark, job.cell.phase, job.cell.device) for job in timings]
    assert len(list(itertools.groupby(compared))) == len(set(compared)) > 1
    here.asked(LM)
    assert here.place(timings[-1]) == len(timings)
    assert Register(plan()).place(timings[0]) == 0


def test_memory_is_what_the_row_took_before_here_or_elsewhere(tmp_path: Path, monkeypatch) -> None:
    table = tmp_path / "report" / "one" / "cells.csv"
    table.parent.mkdir(parents=True)
    job, other, strange = plan().timings(LM)[:3]
    names = ("environment", "benchmark", "implementation", "phase", "device")
    rows = [(*(getattr(each.cell, n) for n in names), str(2 << 30)) for each in (job, other)]
    lines = map(",".join, [(*names, "peak_memory_bytes"), *rows])
    table.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(memory, "EXAMPLES", table.parents[1])
    for each in (memory._examples, memory.megabytes):
        monkeypatch.setattr(memory, each.__name__, functools.cache(each.__wrapped__))
    leave(job, memory={"process_peak_bytes": 3 << 30})
    found = [memory.megabytes(each.cell.name) for each in (job, other, strange)]
    assert found == [3 << 10, 2 << 10, memory.USUAL_MB]


def test_summary_tells_one_request_from_another() -> None:
    before = Register(plan()).summary(LM)
    assert Register(plan()).summary(LM) == before != Register(plan()).summary(LAYERS)
    assert Register(plan(protocol={"rounds": 7})).summary(LM) != before
    assert Register(plan(machine="there")).summary(LM) != before
    for job in plan().timings(LM):
        leave(job)
    assert Register(plan()).summary(LM) == before  # there or not


def test_a_list_is_made_anew_where_it_does_not_say_what_is_there(capsys) -> None:
    path, serves, jobs = "results/manifests/list.json", "results/cells.parquet", plan().timings(LM)

    def listed() -> tuple[list[str], set[str], str]:
        """(what is missing, whether the list is to be made anew, what is said)."""
        anew: set[str] = set()
        here = Register(plan(), kept="kept {}".format, anew=anew.add)
        found = here.listed(path, serves, LM, {})
        missing = [each for each in found if not each.startswith("kept ")]
        return missing, anew, capsys.readouterr().err

    missing, anew, _ = listed()
    assert [each for each in missing if "/records/" in each] == [job.path for job in jobs]
    assert anew == {path}
    for job in [*jobs, *plan().convergences(LM)]:
        write_sealed(job.path, {"status": "ok"})
    right = listing.manifest(plan(), LM, {})
    write_sealed(path, right)
    assert listed() == ([], set(), "")
    for change in (
        {"cells": right["cells"][::-1]},
        {"seals": "0" * 16},
    ):  # with a seal that is right
        write_sealed(path, right | change)
        assert listed() == ([], {path}, "")
    Path(path).write_text("{")
    missing, anew, said = listed()
    assert not missing and anew == {path} and f"{path} is damaged" in said
    Path(path).unlink()
    assert listed() == ([], {path}, "")  # never made
    Path(serves).touch()
    assert listed()[2] == f"{path} is missing; it is made again.\n"
    write_sealed(path, right)
    write_sealed(jobs[3].path, {"status": "ok", "samples": [1.0]})  # measured again
    assert listed() == ([], {path}, "")
    Path(jobs[3].path).unlink()
    assert listed()[:2] == ([jobs[3].path], {path})


def test_an_environment_of_another_fingerprint_is_refused() -> None:
    """What is built would lie in another folder than its name says."""
    asked = plan()
    now = asked.environment("pytorch")
    assert Register(asked).environment("pytorch", now.parts["fingerprint"]).path == now.path
    with pytest.raises(SystemExit, match=f"pytorch-00000000 is {now.stem} now"):
        Register(asked).environment("pytorch", "00000000")
