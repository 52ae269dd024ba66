"""`--use-conda` through Snakemake's own code, from this repository's environment files as they are.

Where no conda is installed, a stand-in takes its place (stand_in_conda.py). Frameworks are installed by pip."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from measurement.record import read_json
from plan import environments
from tests.tiny import BENCHMARK

from . import stand_in_conda
from .conftest import Project, implementation, make_project, manifest

# Of an environment with an index of its own, and of one that kernels are built in; a benchmark for each.
BENCHMARKS = {
    "tiny-lm": BENCHMARK,
    "tiny-layer": {"features": 16, "hidden": 16, "layers": 1, "length": 3, "batch": 4},
}
CELLS = {"pytorch": ("pytorch/fused", "tiny-lm"), "tvm": ("tvm/untuned", "tiny-layer")}
BUILT = {*CELLS, "corpus"}


def entry(environment: str) -> dict:
    name, benchmark = CELLS[environment]
    built = {"kernel": name.split("/")[1]} if environment == "tvm" else {}
    return {
        **implementation("loop", environment),
        **{"implementation": name, "benchmarks": [benchmark], "devices": ["cpu"], **built},
    }


@pytest.fixture(scope="module")
def conda(tmp_path_factory: pytest.TempPathFactory):
    """A conda on PATH; yields the folder for environments, which are large: it is deleted at the end."""
    root = tmp_path_factory.mktemp("conda")
    with pytest.MonkeyPatch.context() as patch:
        if not shutil.which("conda"):
            source = "envs/pytorch.yaml"  # conda's files ask for the oldest Python that is locked
            lock = environments.lock_for(environments.load(source), source, None)
            assert lock
            python = SpecifierSet(f"=={lock.python}.*")
            found = environments.find_interpreter(python)
            if not found:
                pytest.skip(f"no Python {python} on this machine")
            stand_in_conda.lay_out(root, *found)
            patch.setenv("PATH", f"{root}/bin:{os.environ['PATH']}")
        patch.setenv("PIP_RETRIES", "1")  # where PyTorch's own index is not reached, five take 90 s
        yield root / "environments"
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def measured(conda: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a cell of each framework, measured in environments that conda built."""
    project = make_project(tmp_path_factory.mktemp("measured"))
    document = {"benchmarks": BENCHMARKS, "phases": ["forward"]}
    project.configure("config/documents/tiny.yaml", **document)
    project.implement(*map(entry, CELLS))
    project.settings(interpreters={"report": sys.executable})
    project.targets = (manifest(),)
    project.options = ("--use-conda", "--conda-prefix", str(conda))
    printed = project.snakemake()
    assert printed.count("Creating conda environment results/environments/") == len(BUILT)
    return project


def test_conda_builds_the_environments(measured: Project) -> None:
    records = [*measured.path("results/environments").glob("*.json")]
    built = {record["environment"]: record for record in map(read_json, records)}
    assert set(built) - {"report"} == BUILT
    for name in BUILT:
        record = built[name]
        assert (record["builder"], record["status"]) == ("conda", "ok"), record["reason"]
        assert record["pins"] == environments.load(f"envs/{name}.yaml").pins
        assert "snakemake" not in record["packages"]


def test_a_cell_of_each_framework_is_measured(measured: Project) -> None:
    cells = measured.cells().query("device == 'cpu'").set_index("environment")
    assert set(cells.index) == set(CELLS) and set(cells["status"]) == {"ok"}
    assert (cells["wall_s"] > 0).all() and (cells["output_error"] < 1e-5).all()


def test_comment_makes_nothing_stale(measured: Project) -> None:
    for name in BUILT:
        path = measured.path(f"envs/{name}.yaml")
        path.write_text("# A comment\n" + path.read_text())
    assert "Nothing to be done" in measured.snakemake()


def test_pin_makes_its_environments_cells_stale(measured: Project) -> None:
    path = measured.path("envs/pytorch.yaml")
    path.write_text(path.read_text().replace("numpy==2", "numpy==1"))
    planned = measured.snakemake("-n")
    assert set(re.findall(r"time (\S+?)/\S+: new: environment \(", planned)) == {"pytorch"}
    assert "tvm/" not in planned
    created = re.findall(r"environments/(\w+)-\w+\.yaml will be created", planned)
    assert created == ["pytorch"]
