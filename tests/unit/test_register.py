"""The register: what rules ask for is what is missing."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from measurement.record import append_line, write_sealed
from plan import listing, memory
from plan.jobs import CheckJob, EnvironmentJob, Job, TimeJob
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


def leave(job: Job, status: str = "ok", **more: object) -> None:
    """The result of a job."""
    if status != "ok":
        append_line(job.failures, {"status": status})
    write_sealed(job.path, {"status": status, "parts": job.parts, **more})


def everything(job: Job) -> Iterator[Job]:
    for need in job.needs:
        yield from everything(need)
    yield job


def leave_all(jobs: list[TimeJob]) -> None:
    """The results of jobs and of all that they need."""
    for each in itertools.chain.from_iterable(map(everything, jobs)):
        leave(each)


def register(asked: Plan, document: str = "", **more: object) -> Register:
    """One that shows which inputs make nothing stale; of which a document is asked for."""
    found = Register(asked, kept="kept {}".format, **more)
    if document:
        found.asked(document)
    return found


def groups(here: Register) -> dict[str, Job]:
    """{path: those that are checked by one process}"""
    return {job.path: job for job in here._jobs.values() if job.kind == "checking"}


def to_make(paths: list[str]) -> list[str]:
    return [path for path in paths if not path.startswith("kept ")]


def test_inputs_while_a_run_goes_on() -> None:
    asked = plan()
    first, second, *_ = asked.timings(LM)
    environment = first.needed(EnvironmentJob)
    corpus = next(need for need in first.needs if need.kind == "corpus")
    here = register(asked, LM)
    group = next(job for job in groups(here).values() if first.needed(CheckJob) in job.checks)
    assert here.inputs(first) == [group.path]  # which waits for the others
    assert sorted(here.inputs(group)) == sorted([environment.path, corpus.path])

    leave(environment)
    leave(corpus)
    assert here.inputs(first) == [group.path]
    assert to_make(here.inputs(group)) == []
    for check in group.checks:
        leave(check)
    write_sealed(group.path, {"checks": [check.path for check in group.checks]})
    kept = {f"kept {path}" for path in (environment.path, corpus.path, group.path)}
    assert set(here.inputs(first)) == kept
    leave(first)
    again = register(plan()).asked(LM)
    assert f"kept {first.path}" in again and second.path in again


def test_what_is_done_is_made_of_what_is_there() -> None:
    """What its inputs were and is gone is not made for it."""
    leave_all(plan().timings(LM))
    job = plan().timings(LM)[0]
    check, environment = job.needed(CheckJob), job.needed(EnvironmentJob)
    made = "results/checked/pytorch/some.0123456789ab.json"
    write_sealed(made, {"checks": [check.path, "results/checks/of/another.json"]})
    here = register(plan())
    assert to_make(here.asked(LM)) == []
    assert {f"kept {made}", f"kept {environment.path}"} < set(here.inputs(job))
    assert f"kept {environment.path}" in here.inputs(here["0123456789ab"])
    Path(check.path).unlink()
    here = register(plan(), LM)
    assert f"kept {environment.path}" in here.inputs(job)
    assert not any(path.endswith(made) for path in here.inputs(job))


def test_checks_that_are_gone_are_made_again_where_they_were_listed() -> None:
    anew = set()
    there = groups(register(plan(), LM, anew=anew.add))
    for group in there.values():
        write_sealed(group.path, {"checks": [check.path for check in group.checks]})
    assert not anew
    register(plan(), LM, anew=anew.add)
    assert anew == set(there)


def test_what_failed_is_made_again() -> None:
    leave_all(plan().timings(LM))
    assert to_make(register(plan()).asked(LM)) == []
    failed = plan().timings(LM)[3]
    leave(failed, "failed")
    assert to_make(register(plan()).asked(LM)) == [failed.path]
    leave(failed.needed(CheckJob), "incorrect")
    anew: list[str] = []
    here = register(plan(), anew=anew.append)
    assert to_make(here.asked(LM)) == [failed.path]
    os.utime(failed.failures, (0, 0))
    register(plan(), is_dry=lambda: True).inputs(failed)
    assert Path(failed.failures).stat().st_mtime == 0
    attempts, checked = here.inputs(failed)
    assert Path(attempts).stat().st_mtime > Path(failed.path).stat().st_mtime
    assert attempts == failed.failures and checked.startswith("results/checked/")
    assert failed.path in anew


def test_a_kernel_is_two_files() -> None:
    here = register(plan(), LAYERS)
    job = plan().timings(LAYERS)[0]
    kernel = next(need for need in job.needs if need.kind == "kernel")
    (checked,) = here.inputs(job)
    assert {kernel.path, kernel.library} < set(here.inputs(groups(here)[checked]))
    tuning = next(need for need in kernel.needs if need.kind == "tuning")
    assert set(here.inputs(kernel)) == {job.needed(EnvironmentJob).path, tuning.path}


def test_checks_of_cells_that_are_wanted_later() -> None:
    """A noisy cell's further processes find the check that its first ones had."""
    here = register(asked := plan(), LM)
    noisy, before = asked.cells(LM)[0], groups(here).keys()
    more = here.asked(LM, {noisy.name: 4})
    assert sum(noisy.name in path for path in more) == 4
    assert groups(here).keys() == before


def test_training_runs_are_wanted_with_the_counts() -> None:
    register = Register(Plan(planned.config(documents=["cudnn-lstm-ptb"])))
    first = register.asked("cudnn-lstm-ptb")
    both = register.asked("cudnn-lstm-ptb", {})
    assert not any("/convergence/" in path for path in first)
    assert {path.split("/")[1] for path in set(both) - set(first)} == {"convergence"}
    listed = register.listed("results/list.json", "results/cells", "cudnn-lstm-ptb", {})
    assert listed == register.asked("cudnn-lstm-ptb", {})


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


def test_record_of_an_environment_that_was_deleted(tmp_path: Path, monkeypatch) -> None:
    """It is there, and is made anew all the same."""
    asked = plan()
    environment = asked.environment("pytorch")
    job = asked.timings(LM)[0]
    leave(environment)
    leave(job.needed(CheckJob))
    anew: set[str] = set()
    here = register(asked, LM, anew=anew.add)
    assert environment.path not in to_make(here.inputs(job)) and not anew
    monkeypatch.setitem(environment.order, "builder", "venv")
    monkeypatch.setitem(environment.order, "folder", str(tmp_path / "deleted"))
    here = register(asked, LM, anew=anew.add)
    assert environment.path in to_make(here.inputs(job)) and environment.path in anew


def test_rows_that_are_compared_are_timed_together() -> None:
    """What was asked for first comes first; nothing has a place that was not asked for."""
    here = register(asked := plan(), LM)
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
    memory._examples.cache_clear()
    leave(job, memory={"process_peak_bytes": 3 << 30})
    register = Register(plan())
    found = [register.memory_mb(each) for each in (job, other, strange)]
    assert found == [3 << 10, 2 << 10, memory.USUAL_MB]
    memory._examples.cache_clear()


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
        found = register(plan(), anew=anew.add).listed(path, serves, LM, {})
        return to_make(found), anew, capsys.readouterr().err

    missing, anew, _ = listed()
    assert [each for each in missing if "/records/" in each] == [job.path for job in jobs]
    assert anew == {path}
    for job in [*jobs, *plan().convergences(LM)]:
        write_sealed(job.path, {"status": "ok"})
    right = listing.manifest(plan(), LM, {})
    write_sealed(path, right)
    assert listed() == ([], set(), "")
    changes = {"preliminary": not right["preliminary"], "cells": right["cells"][::-1]}
    for change in (changes | {"seals": "0" * 16}).items():  # with a seal that is right
        write_sealed(path, right | dict([change]))
        assert listed() == ([], {path}, "")
    for content in ("", "{", Path(path).read_text().replace("ok", "no", 1)[:-3]):
        Path(path).write_text(content)
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
