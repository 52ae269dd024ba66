"""Kernels by real rules and the real compiler: what is tuned again, and what is not."""

import json
import os

import pytest

from measurement import machine
from tests.contract.running import interpreter

from .conftest import Project, make_project

SHAPE = {"features": 16, "hidden": 16, "layers": 1, "length": 3, "batch": 4}
VARIANTS = ("template-tuned", "default-rules")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose two tuned kernels of one small layer are measured."""
    project = make_project(tmp_path_factory.mktemp("kernels"))
    longer = SHAPE | {"length": 5, "layers": 2}
    project.configure(
        "config/documents/tvm-lstm.yaml",
        benchmarks={"layer-small": SHAPE, "stack-small": longer},
        rows=[{"families": ["TVM kernel"], "devices": ["cpu"]}],
    )
    entries = [
        {
            **{"implementation": f"tvm/{variant}", "label": variant, "family": "TVM kernel"},
            **{"environments": ["tvm"], "benchmarks": ["*-small"], "kernel": variant},
            **{"devices": ["cpu"], "does": "As in the repository."},
        }
        for variant in VARIANTS
    ]
    project.implement(*entries)
    tvm = {"tvm": os.path.abspath(interpreter("tvm"))}
    project.settings(
        documents=["tvm-lstm"],
        overrides={"tvm-lstm": {"protocol": {"one_process": []}}},  # names rows that are not here
        kernels={"trials": dict.fromkeys(VARIANTS, 2), "build_limit_s": 60},
        interpreters=project.setting("interpreters") | tvm,
    )
    project.targets = ("results/manifests/tvm-lstm-{}.json".format(machine.facts()["machine"]),)
    project.snakemake()
    return project


def tunings(project: Project) -> dict[str, dict]:
    files = project.path("results/tuning/tvm").glob("*/*/tuning.*.json")
    newest = sorted(files, key=lambda file: file.stat().st_mtime)
    return {file.parent.parent.name: json.loads(file.read_text()) for file in newest}


def test_one_tuning_serves_all_lengths_and_depths(built: Project) -> None:
    cells = built.cells()
    assert len(cells) == 4 and set(cells.status) == {"ok"}
    assert {name: (t["trials"], t["new_trials"]) for name, t in tunings(built).items()} == {
        "template-tuned": (2, 2),
        "default-rules": (2, 2),
    }
    assert cells.output_error.max() < 1e-5


def test_a_deleted_library_is_built_again_without_tuning(built: Project) -> None:
    """Unless the database that it is built from is damaged: that is told, and tuned anew."""
    tuned, damaged = VARIANTS
    for library in built.path("results/kernels/tvm/layer-small").glob("*/kernel.so"):
        library.unlink()
    assert built.stale() == set()  # what is done is missed when something needs it
    for record in built.path("results/records/tvm/layer-small").rglob("*.json"):
        record.unlink()
    (file,) = built.path(f"results/tuning/tvm/{damaged}").glob("*/database/*/*_record.json")
    file.write_text('{"broken')
    printed = built.snakemake()
    assert f"build tvm/layer-small/{tuned}" in printed
    assert f"build tvm/stack-small/{tuned}" not in printed and f"tune tvm/{tuned}" not in printed
    (library,) = built.path("results/kernels/tvm/layer-small").glob(f"{tuned}.*/kernel.so")
    assert library.stat().st_size > 0
    assert "tuning database in" in printed and "tuning starts afresh" in printed
    assert "Traceback" not in printed
    assert set(built.cells().status) == {"ok"}
    assert any("corrupted" in name.name for name in file.parent.iterdir())


def test_more_trials_go_on_from_the_database(built: Project) -> None:
    built.edit("tiny.yaml", "template-tuned: 2", "template-tuned: 3")
    built.snakemake()
    found = tunings(built)["template-tuned"]
    assert (found["trials"], found["new_trials"]) == (3, 1)
    (history,) = built.path("results/tuning/tvm/template-tuned").glob("*/database/*/runs.jsonl")
    searches = [json.loads(line) for line in history.read_text().splitlines()]
    assert [each["new_trials"] for each in searches] == [2, 1]
    assert found["tuning_seconds"] == pytest.approx(
        sum(each["tuning_seconds"] for each in searches)
    )
    assert tunings(built)["default-rules"]["trials"] == 2
