"""Planning, with and without something to do, takes work in proportion to the cells. Work is what Python ran, which
does not depend on the machine."""

import json
from pathlib import Path

import pytest

from plan.planner import CHECKS
from tests import scale
from tests.tiny import BENCHMARK

from .conftest import implementation, make_project

CELLS_OF_BENCHMARK = 4  # two implementations, two phases
FEW, MANY = 10, 30  # benchmarks
PROCESSES = 3  # with fewer nothing is judged
TOLERANCE = 1.1


def plan(folder: Path) -> tuple[str, dict[str, int]]:
    """What `snakemake -n` prints, and its work."""
    options = ["--cores", "2", "--configfile", "tiny.yaml", "-n"]
    printed = scale.run(folder, "-m", "tests.scale", "--count", *options)
    return printed, json.loads((folder / "work.json").read_text())


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[dict, dict]]:
    """{benchmarks: work of a first plan, and of one that has nothing to do}."""
    found = {}
    for count in (FEW, MANY):
        project = make_project(tmp_path_factory.mktemp("scale"))
        folder, names = project.root, ["tiny-lm", *(f"tiny-lm-{n}" for n in range(1, count))]
        project.configure("config/documents/tiny.yaml", benchmarks=dict.fromkeys(names, BENCHMARK))
        entries = [implementation("loop", "plain"), implementation("other", "second")]
        project.implement(*(entry | {"benchmarks": ["tiny-lm*"]} for entry in entries))
        project.set_protocol(processes=PROCESSES, most_processes=PROCESSES)
        printed, first = plan(folder)
        cells = count * CELLS_OF_BENCHMARK
        assert scale.jobs(printed)["check_implementation"] == 2 * -(-2 * count // CHECKS)
        assert scale.jobs(printed)["time_cell"] == cells * PROCESSES
        scale.pretend(folder, "tiny.yaml")
        printed, second = plan(folder)
        assert "Nothing to be done" in printed
        found[count] = first, second
    return found


@pytest.mark.parametrize("which", [0, 1], ids=["first", "nothing to do"])
def test_work_is_in_proportion_to_the_cells(plans, which: int) -> None:
    few, many = plans[FEW][which], plans[MANY][which]
    for kind in ("calls", "steps"):
        assert 0 < many[kind] < TOLERANCE * MANY / FEW * few[kind], kind
