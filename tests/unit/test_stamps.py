"""Files that are made of others are known when they are not what their step made, or of something else."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from plan import stamps
from tests.conftest import ROOT

OUTPUTS = ["results/report/page.md", "results/report/figures"]
INPUTS = ["config/page.yaml", "results/sections.json"]


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


@pytest.fixture(autouse=True)
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in which one step has been done."""
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("results/report/page.md", "A page, with a number: 7.\n"),
        ("results/report/figures/one.svg", "<svg>1</svg>"),
        ("results/report/figures/two.svg", "<svg>2</svg>"),
        ("config/page.yaml", "title: A page\n"),
        ("results/sections.json", "[7]"),
    ):
        write(name, text)
    stamps.write(OUTPUTS, stamps.of_inputs(INPUTS))


def test_times_and_order_decide_nothing_and_another_set_of_inputs_does() -> None:
    for file in Path().rglob("*"):
        os.utime(file, (1, 1))
    write("results/report/figures/.snakemake_timestamp", "")
    environment = "results/environments/report-12345678.json"
    write(environment, "{}")  # among a step's inputs only in the run that builds it
    assert stamps.is_whole(OUTPUTS, [*INPUTS[::-1], environment])
    assert not stamps.is_whole(OUTPUTS, INPUTS[:1])
    write("results/more.json", "[8]")
    assert not stamps.is_whole(OUTPUTS, [*INPUTS, "results/more.json"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: write("results/report/page.md", "A page, with a number: 8.\n"), "page.md is dam"),
        (lambda: write("results/report/figures/one.svg", "<svg>1"), "figures/one.svg is damaged"),
        (lambda: write("results/report/figures/new.svg", ""), "figures/new.svg is damaged"),
        (lambda: Path("results/report/page.md").unlink(), "results/report/page.md is missing"),
        (lambda: Path(stamps.path_of(OUTPUTS)).unlink(), "page.md "),
        (lambda: write(stamps.path_of(OUTPUTS), "{}{"), "page.md "),
        (lambda: write("config/page.yaml", "title: Another\n"), ""),
    ],
)
def test_what_is_not_is_made_anew(change: Callable[[], object], said: str) -> None:
    change()
    assert not stamps.is_whole(OUTPUTS, INPUTS)
    assert said in stamps.wrong(OUTPUTS) and bool(said) == bool(stamps.wrong(OUTPUTS))


STEP = """
import sys
from pathlib import Path
Path(sys.argv[1]).write_text(Path("config/page.yaml").read_text())
if len(sys.argv) > 2:
    Path("config/page.yaml").write_text("title: edited meanwhile")
"""


@pytest.mark.parametrize(("edited", "whole"), [([], True), (["edited"], False)])
def test_a_step_notes_what_it_read(edited: list[str], whole: bool) -> None:
    """And does not where that changed while it read it."""
    for folder in ("plan", "measurement"):
        Path("scripts").mkdir(exist_ok=True)
        Path("scripts", folder).symlink_to(ROOT / "scripts" / folder)
    for name in ("__main__.py", "steps/stamped.py", "steps/__init__.py"):
        write(f"scripts/{name}", (ROOT / "scripts" / name).read_text())
    Path("scripts/commands").mkdir()
    write("scripts/steps/write_page.py", STEP)
    command = [sys.executable, "scripts", "stamped", "--outputs", OUTPUTS[0], "--inputs", INPUTS[0]]
    subprocess.run([*command, "--", "write_page", OUTPUTS[0], *edited], check=True)
    assert Path(OUTPUTS[0]).read_text() == "title: A page\n"
    assert stamps.is_whole(OUTPUTS[:1], INPUTS[:1]) == whole
