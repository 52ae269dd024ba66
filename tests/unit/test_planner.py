"""The plan: which jobs there are, and what makes a job another one."""

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from commands import plan_run
from measurement import supervisor
from measurement.record import write_sealed
from plan import environments, files, matrix, planner, sources
from plan.jobs import BuildJob, CheckJob, Job, TimeJob
from plan.planner import CHECKS, Plan
from steps import build_kernel
from tests.conftest import ROOT
from tests.unit import planned

MEASURED = {"check", "time", "train"}
KERNELS = {"tuning", "kernel"}
LANGUAGE_MODELS = re.compile("((bf16|int8|avx2)-)?stacked-lm|(weak-)?ptb-")


@pytest.fixture(autouse=True)
def in_empty_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned.empty_project(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Job]:
    """The jobs before any change."""
    with pytest.MonkeyPatch.context() as patch:
        planned.empty_project(tmp_path_factory.mktemp("before"), patch)
        return planned.all_jobs(Plan(planned.config()))


def changed(before: dict, plan: Plan) -> set[tuple[str, str]]:
    """Kinds and names of the jobs that are others now. Those that only one plan has do not count."""
    after = planned.all_jobs(plan)
    assert before.keys() & after.keys()
    return {key for key in before.keys() & after.keys() if before[key].digest != after[key].digest}


def those(before: dict, condition: Callable[[Job], object]) -> set[tuple[str, str]]:
    return {key for key, job in before.items() if condition(job)}


def of_kind(*kinds: str) -> Callable[[Job], bool]:
    return lambda job: job.kind in kinds


def runs_kernel(job: Job, variant: str = "") -> bool:
    """Whether it builds a kernel, of a variant, or runs one."""
    return variant in job.name and (job.kind == "kernel" or "kernel" in job.told()["reads"])


def reads_text(job: Job) -> bool:
    return job.kind == "corpus" or (
        job.kind in MEASURED and bool(LANGUAGE_MODELS.match(job.name.split("/")[1]))
    )


def kinds(keys: set[tuple[str, str]]) -> set[str]:
    return {kind for kind, _ in keys}


def test_every_kind_is_planned(before: dict) -> None:
    assert kinds(before.keys()) == MEASURED | KERNELS | {"environment", "corpus"}
    paths = [job.path for job in before.values()]
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize(
    "change",
    [
        {
            "protocol": {"timeout_s": 7, "processes": 5}
            | {"target_interval": 0.01, "most_processes": 30},
            "corpus": {"mirrors": [], "stand_in": True},
            "also_report": ["elsewhere"],
            "environment_folder": "elsewhere",
            "interpreters": {"unheard-of": sys.executable},
        },
        {
            "documents": ["cudnn-lstm-ptb", "stacked-lm"],
            # What stands for the same.
            "overrides": {"stacked-lm": {"benchmarks": ["stacked-lm"], "protocol": {"seed": 0}}},
        },
        {"preliminary": True},
    ],
    ids=["settings", "documents", "preliminary"],
)
def test_what_changes_no_job(before: dict, change: dict) -> None:
    """However many processes there are, on what else, on how many of a machine's cores, and when they are given up: each is the
    same one."""
    assert changed(before, Plan(planned.config(**change), cores=12)) == set()


@pytest.mark.parametrize(
    ("change", "stale"),
    [
        ({"protocol": {"rounds": 7}}, of_kind("time")),
        ({"protocol": {"compile_once": True}}, of_kind("time")),
        ({"protocol": {"seed": 7}}, of_kind(*MEASURED)),
        ({"protocol": {"threads": 1}}, of_kind(*MEASURED, "kernel")),
        ({"machine": "there"}, of_kind(*MEASURED, "kernel")),
        (
            {"check": {"tolerance": 1e-3}},  # other formats have a wider bound of their own
            lambda job: job.kind in MEASURED and not re.search("bf16|int8", job.name),
        ),
        ({"training": {"batches": 7}}, of_kind("train")),
        (
            {"kernels": {"trials": {"template-tuned": 21}}},
            lambda job: (
                runs_kernel(job, "template-tuned")
                or (job.kind == "tuning" and "/template-tuned/" in job.name)
            ),
        ),
        ({"kernels": {"build_limit_s": 7}}, runs_kernel),
        ({"corpus": {"sha256": {"valid": "0" * 64}}}, reads_text),
        ({"corpus": {"stride": 2}}, reads_text),
        (
            {"overrides": {"tvm-lstm": {"protocol": {"rounds": 7}}}},
            lambda job: job.kind == "time" and job.document == "tvm-lstm",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_settings_that_change_jobs(before: dict, change: dict, stale: Callable) -> None:
    found = changed(before, Plan(planned.config(**change)))
    assert found == those(before, stale) and 0 < len(found) < len(before)


def test_threads_and_machine_change_what_is_tuned(before: dict) -> None:
    """Its name tells."""
    tuned = {name for kind, name in before if kind == "tuning"}
    for change in ({"machine": "there"}, {"protocol": {"threads": 1}}):
        after = planned.all_jobs(Plan(planned.config(**change)))
        assert tuned and not tuned & {name for kind, name in after if kind == "tuning"}


def test_without_a_compiler_kernels_are_others(before: dict, monkeypatch) -> None:
    """They are unsupported then, until there is a compiler."""
    monkeypatch.setattr(planner, "LINKERS", ("no-such-compiler",))
    found = changed(before, Plan(planned.config()))
    assert found == those(before, lambda job: job.kind == "tuning" or runs_kernel(job))


def test_without_a_compiler_what_compiles_when_it_runs_is_another(before, monkeypatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    found = changed(before, Plan(planned.config()))
    assert found == {key for key in before if "recurrent_cells/" in key[1]}


def test_without_a_compiler_rows_are_unsupported(monkeypatch, capsys) -> None:
    monkeypatch.setattr(planner, "LINKERS", ("no-such-compiler",))
    monkeypatch.setattr(os, "environ", {**os.environ})  # the step changes it
    files.say_once.cache_clear()
    plan = Plan(planned.config())
    cell = next(cell for cell in plan.cells("tvm-lstm") if plan.check(cell).needed(BuildJob))
    assert "no-such-compiler" in capsys.readouterr().err
    told, kernel = plan.check(cell).told(), plan.check(cell).needed(BuildJob)
    write_sealed(told["reads"]["environment"], {"status": "ok", "fingerprint": "1"})
    Path(kernel.path).parent.mkdir(parents=True)
    build_kernel.carry_out(argparse.Namespace(kernel=kernel.told(), output=kernel.path, log=""))
    why = supervisor.prepared(told)[2]
    assert why["status"] == "unsupported" and "C++ compiler" in why["reason"]


def test_benchmark_changes_its_cells(before: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(planned.config())
    plan.benchmarks["cell-512"] = plan.benchmarks["cell-512"] | {"batch": 2}
    found = changed(before, plan) - {key for key in before if key[0] == "tuning"}
    assert found == {key for key in before if "/cell-512/" in key[1] and key[0] != "tuning"}


def test_threads_of_a_benchmark_are_those_of_its_cells() -> None:
    config = planned.config(protocol={"threads": 3}, documents=["landscape"])
    jobs = Plan(config).timings("landscape")
    threads = {job.cell.benchmark: job.told()["threads"] for job in jobs}
    assert (threads["threads-1"], threads["threads-8"], threads["map-1x64x256"]) == (1, 8, 3)


def test_kernels_are_built_for_the_threads_that_they_are_timed_on() -> None:
    overrides = {"tvm-lstm": {"protocol": {"threads": 1}}}
    plan = Plan(planned.config(protocol={"threads": 3}, overrides=overrides))
    kernel = plan.kernel("template-tuned", "tvm", "cell-512")
    (tuning,) = (need for need in kernel.needs if need.kind == "tuning")
    assert kernel.order["threads"] == 1 and tuning.order["shape"]["threads"] == 1
    assert plan.kernel("template-tuned", "tvm", "stacked-lm").order["threads"] == 3


def test_workers_change_their_implementation(before: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = matrix.workers
    monkeypatch.setattr(matrix, "workers", lambda name: workers(name) + (name == "pytorch/fused"))
    found = changed(before, Plan(planned.config()))
    assert kinds(found) == MEASURED
    assert found == {key for key in before if key[0] in MEASURED and "/pytorch/fused/" in key[1]}


def of_environment(name: str, before: dict) -> set[tuple[str, str]]:
    """It, and the jobs that run in it."""
    return {k for k in before if k == ("environment", name) or k[1].startswith(f"{name}/")}


def test_environment_changes_what_runs_in_it(before: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    here = environments.here

    def bumped(name: str, config: dict, conda: bool, instead: dict) -> dict:
        return here(name, config, conda) | ({"fingerprint": "f" * 8} if name == "tvm" else {})

    monkeypatch.setattr(environments, "here", bumped)
    found = changed(before, Plan(planned.config()))
    assert found == of_environment("tvm", before)
    assert kinds(found) == {"environment", "tuning", "kernel", "check", "time"}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("scripts/measurement/timing.py", MEASURED),  # the worker checks, times and trains
        ("scripts/steps/tune_kernel.py", KERNELS | {"check", "time"}),
        ("scripts/steps/build_kernel.py", {"kernel", "check", "time"}),
        ("scripts/steps/list_records.py", set()),
    ],
)
def test_source_of_the_harness(before: dict, monkeypatch, file: str, expected: set[str]) -> None:
    digest = sources.digest

    def edited(*entries: str) -> str:
        return "f" * 8 if file in sources.files(*entries) else digest(*entries)

    monkeypatch.setattr(sources, "digest", edited)
    assert kinds(changed(before, Plan(planned.config()))) == expected


class TestProcesses:
    def test_one_where_the_protocol_says_so_of_a_row(self) -> None:
        rows = ["pytorch/fused for training", "keras/* in keras"]
        plan = Plan(planned.config(protocol={"processes": 3, "one_process": rows}))
        counts = Counter(job.cell for job in plan.timings("stacked-lm"))
        fused = ("pytorch/fused", "training")
        once = {
            c for c in counts if (c.implementation, c.phase) == fused or c.environment == "keras"
        }
        assert once and {counts[cell] for cell in once} == {1}
        assert {count for cell, count in counts.items() if cell not in once} == {3}
        (first, *_) = once
        timings = plan.timings("stacked-lm", {first.name: 4})  # judged, it may get more
        assert sum(job.cell == first for job in timings) == 4

    @pytest.mark.parametrize(
        ("protocol", "expected"),
        [
            ({"processes": 3, "target_interval": 0.1}, True),
            ({"processes": 1, "rounds": 2, "target_interval": 0.1}, False),
            ({"processes": 3, "target_interval": None}, True),
            ({"processes": 3, "most_processes": 3}, False),
        ],
        ids=str,
    )
    def test_adapting_needs_an_interval_and_room(self, protocol: dict, expected: bool) -> None:
        assert Plan(planned.config(protocol=protocol)).adapts("stacked-lm") == expected


def test_quick_and_published_share_checks() -> None:
    """Who has run the quick protocol has these already; its kernels are tuned with fewer trials."""
    fixed = {key: planned.config()[key] for key in ("devices", "machine", "interpreters")}
    quick, published = (
        yaml.safe_load((ROOT / f"config/{name}.yaml").read_text()) for name in ("quick", "config")
    )
    one, other = (
        {job.path: job for job in planned.all_jobs(Plan(planned.merged(given, fixed))).values()}
        for given in (planned.merged(published, quick), published)
    )
    checks = {path for path, job in one.items() if job.kind == "check" and not runs_kernel(job)}
    assert checks and checks <= other.keys()


class TestChecking:
    """Which checks are made by one process."""

    @staticmethod
    def planned(**changes: object) -> tuple[list[TimeJob], list]:
        plan = Plan(planned.config(**changes), cores=8)
        timings = [job for name in plan.config["documents"] for job in plan.timings(name)]
        return timings, list(plan.checkings(timings))

    def test_each_once_by_as_few_processes_as_may_be(self) -> None:
        timings, groups = self.planned(devices=["cpu", "gpu"])
        asked = {job.needed(CheckJob).digest for job in timings}
        made = [check.digest for group in groups for check in group.checks]
        assert len(made) == len(set(made)) and set(made) == asked
        sizes: dict[str, list[int]] = {}
        for group in groups:
            sizes.setdefault(group.name, []).append(len(group.checks))
            needed = {need.path for check in group.checks for need in check.needs}
            assert {job.path for job in group.needs} == needed
        assert max(max(each) for each in sizes.values()) == CHECKS
        for each in sizes.values():
            assert all(size == CHECKS for size in sorted(each, reverse=True)[:-1])
        (together,) = sizes["pytorch/pytorch/fused/stacked-lm-protocol-cpu"]
        assert together >= 2  # both phases
        kernels = next(g for g in groups if g.name.endswith("template-tuned/tvm-lstm-protocol-cpu"))
        assert {job.kind for job in kernels.needs} == {"environment", "kernel"}
        assert kernels.gpus == 0 and {g.gpus for g in groups if g.name.endswith("-gpu")} >= {1}

    def test_of_one_implementation_document_departure_and_number_of_threads(self) -> None:
        _, groups = self.planned(devices=["cpu", "gpu"], documents=["stacked-lm", "landscape"])
        departures = set()
        for group in groups:
            cells = [check.cell for check in group.checks]
            assert len({(c.implementation, c.environment, c.device) for c in cells}) == 1
            assert len({check.document for check in group.checks}) == 1
            benchmarks = matrix.document(group.checks[0].document)["benchmarks"]
            shapes = [benchmarks[cell.benchmark] for cell in cells]
            (started,) = {(shape.get("departure"), shape.get("isa")) for shape in shapes}
            departures.add(started)
            assert len({min(check.order["threads"], 8) for check in group.checks}) == 1
        assert {(None, None), ("denormals", None), (None, "avx2")} < departures


def import_with(packages: Path, *steps: str) -> None:
    """Import steps by an interpreter that has these packages and no others."""
    code = f"import sys; sys.path.insert(0, 'scripts'); from steps import {', '.join(steps)}"
    environment = os.environ | {"PYTHONPATH": str(packages)}
    subprocess.run([sys.executable, "-S", "-c", code], env=environment, check=True)


def test_steps_of_snakemakes_own_interpreter_need_nothing_else(snakemake_alone: Path) -> None:
    """As planning does not, which tests/workflow/test_messages.py shows."""
    import_with(snakemake_alone, "build_environment", "list_records")


def test_steps_of_the_corpus_need_numpy_alone(tmp_path: Path) -> None:
    """As envs/corpus.yaml has nothing else."""
    for path in Path(np.__file__).parents[1].glob("numpy*"):
        (tmp_path / path.name).symlink_to(path)
    import_with(tmp_path, "fetch_corpus", "tokenize_corpus")


def further(**protocol: object) -> str:
    return plan_run.further(Plan(planned.config(protocol={"processes": 3} | protocol)))


def test_how_long_further_processes_may_take() -> None:
    """Three documents, of which one is judged already."""
    limited = {"target_interval": None, "further_s": 120}
    assert "up to 6 minutes" in further(**limited)
    judged = Path(plan_run.PROCESSES.format("tvm-lstm"))
    judged.parent.mkdir(parents=True)
    judged.write_text("{}")
    assert "up to 4 minutes" in further(**limited)


def test_no_limit_where_there_is_none() -> None:
    for protocol in ({"further_s": None, "target_interval": None}, {"further_s": None}):
        found = further(**protocol)
        assert found and "minutes" not in found
    assert not further(most_processes=3)
