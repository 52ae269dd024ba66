"""`make bump`: a pin written, what it makes stale measured, and a page of what changed; with real releases of a tiny
framework, from wheels made here."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest
import yaml

from tests.unit.test_build_environment import write_wheel

from .conftest import Project, implementation, make_project

ENVIRONMENT = """\
# Why these versions.
name: second
dependencies:
  - python ={python}
  - pip
  - pip:
      - --no-index
      - --find-links {wheels}
      - abacus==1.0  # as made here
"""
# {version: (seconds that a step pauses, relative error of everything it computes)}
RELEASES = {"1.0": (0.02, 0.0), "1.1": (0.02, 0.0), "1.2": (0.1, 0.0), "1.3": (0.02, 5e-5)}
BROKEN = "2.0"
RELEVANT = "50"  # %: what a shared machine does between two processes is less


@dataclass
class Bumped:
    status: int
    printed: str
    errors: str
    page: str


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """With a row in an environment that the workflow builds; nothing was measured yet."""
    made = make_project(tmp_path_factory.mktemp("bump"))
    lent = str(Path(numpy.__file__).parents[1])  # this interpreter's NumPy
    wheels = made.path("wheels")
    for version, (pause, error) in RELEASES.items():
        code = f"PAUSE_S, ERROR = {pause}, {error}\n"
        files = {"abacus.py": code, "abacus.pth": lent + "\n", "bead.py": f"v = {version}\n"}
        write_wheel(wheels, "abacus", version, files)
    files = {"abacus.py": "raise OSError('libabacus.so.2: not found')\n", "abacus.pth": lent + "\n"}
    write_wheel(wheels, "abacus", BROKEN, files)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    made.path("envs/second.yaml").write_text(ENVIRONMENT.format(python=python, wheels=wheels))
    entries = [implementation("loop", "plain"), implementation("paused", "second")]
    made.path("config/implementations.yaml").write_text(yaml.safe_dump(entries))
    made.edit("config/claims.yaml", "plain/other", "plain/paused")
    # No further processes, however noisy the machine is.
    made.set_protocol(processes=5, most_processes=2, rounds=4, most_rounds=4, look_s=0.001)
    made.settings(interpreters=dict.fromkeys(("plain", "corpus", "report"), sys.executable))
    return made


def bump(project: Project, pin: str, *arguments: str) -> Bumped:
    command = [sys.executable, "scripts", "bump_version", pin, "--configfile", "tiny.yaml"]
    command += ["--relevant", RELEVANT]
    done = subprocess.run(
        [*command, *arguments], cwd=project.root, capture_output=True, text=True, timeout=3000
    )
    pages = sorted(project.path("results/bumps").glob("*.md"), key=lambda p: p.stat().st_mtime_ns)
    page = pages[-1].read_text() if pages else ""
    return Bumped(done.returncode, done.stdout, done.stderr, page)


def pins(project: Project) -> str:
    return project.path("envs/second.yaml").read_text()


def timed(project: Project) -> int:
    return len(list(project.path("results/records").rglob("*.json")))


def test_releases_one_after_the_other(project: Project) -> None:
    text = pins(project)

    equal = bump(project, "abacus==1.1", "--fail")
    assert equal.status == 0, equal.errors
    assert "second: 1.0 -> 1.1, 2 measurements" in equal.printed
    # 1.0 was never measured: both are, in turn.
    assert "1.0: 10 processes of 2 measurements" in equal.printed
    assert "1.1: 10 processes of 2 measurements" in equal.printed
    assert "took turns" in equal.page
    assert "| `second` | abacus | 1.0 | 1.1 |" in equal.page
    assert "No error against the reference grew by 10 times" in equal.page
    assert "**regression**" not in equal.page
    assert pins(project) == text.replace("abacus==1.0", "abacus==1.1")
    assert not list(project.path("results/records/plain").rglob("*.json"))

    slower = bump(project, "abacus==1.2", "--fail")
    assert slower.status == 1
    assert "1.1: " not in slower.printed and "1.2: 10 processes of 2 measurements" in slower.printed
    name = "second/tiny-lm/plain/paused/training-cpu"
    assert "Worse:\n  second/tiny-lm/plain/paused/" in slower.errors and name in slower.errors
    assert slower.page.startswith("# abacus 1.1 to 1.2: worse in 2 measurements\n")
    assert slower.page.count("**regression**") == 2

    count = timed(project)
    back = bump(project, "abacus==1.1", "--fail")
    assert back.status == 0
    assert "nothing to measure" in back.printed
    assert timed(project) == count
    assert back.page.startswith("# abacus 1.2 to 1.1: faster in 2 measurements")

    known = set(project.path("results/records").rglob("*.json"))
    wrong = bump(project, "abacus==1.3", "--rows", "plain/paused for training", "--fail")
    assert wrong.status == 1
    new = set(project.path("results/records").rglob("*.json")) - known
    assert len(new) == 5 and all(path.name.startswith("training-cpu") for path in new)
    assert wrong.page.startswith(
        "# abacus 1.1 to 1.3: worse in 0 measurements, 1 with a grown error\n"
    )
    assert wrong.page.index("Errors that grew by 10 times") < wrong.page.index("Time of a batch")


@pytest.mark.parametrize(
    ("new", "said"), [("1.1", "no measurement"), ("1.2", "Worse:\n  second/tiny-lm/plain/paused/")]
)
def test_recipe_for_a_ci(project: Project, new: str, said: str) -> None:
    """After the test above: 1.0, 1.1 and 1.2 are measured."""
    command = ["env", f"PYTHON={sys.executable}", f"RELEVANT={RELEVANT}", "bash"]
    command += ["profiles/ci/compare_versions.sh", "abacus", "1.0", new, "plain/paused"]
    assert said in project.run([*command, "tiny.yaml"], ok=new == "1.1")


def test_history_of_a_package(project: Project) -> None:
    """1.2 is slower and 1.3 as fast as before; 2.0 cannot be imported."""
    text = pins(project)
    command = [sys.executable, "scripts", "history", "abacus", "--since", "1.0"]
    command += ["--relevant", RELEVANT, "--configfile", "tiny.yaml"]
    printed = project.run([*command, "--rows", "plain/paused for training"])
    assert "abacus: 1.0, 1.1, 1.2, 1.3, 2.0\n" in printed
    assert "2.0 is left out" in printed
    page = project.path("results/history/abacus.md").read_text()
    changes = page[page.index("## Where times changed") : page.index("## All releases")]
    named = [line.split("|")[1].strip() for line in changes.splitlines() if "plain/paused" in line]
    assert named == ["1.2", "1.3"]
    assert pins(project) == text


@pytest.mark.parametrize(
    ("pin", "said"),
    [
        ("abacus==9.9", "No matching distribution found for abacus==9.9"),
        ("abacus==2.0", "plain/paused cannot be imported: OSError: libabacus.so.2: not found"),
    ],
)
def test_version_that_cannot_be_had(project: Project, pin: str, said: str) -> None:
    """One line, and the old pin stands. tests/unit/test_pins.py has pins that are none."""
    text, count = pins(project), timed(project)
    found = bump(project, pin)
    assert found.status == 2
    assert said in found.errors
    assert found.errors.count("\n") == 1
    assert pins(project) == text and timed(project) == count
    folders = project.path(".environments").glob("*")
    assert all((folder / "complete").exists() for folder in folders)
