"""What all tests share: they run at the repository's root, as the workflow does, and beside each other."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from measurement import instructions, machine_lock

os.environ.setdefault(machine_lock.VARIABLE, "")  # clocks of tests do not wait for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # and NumPy's threads, not loaded yet, would

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, help="of the faults' moments; drawn and printed without")
    parser.addoption("--times", type=int, default=1, help="how often a fault is tried, at most")
    parser.addoption(
        "--isa", help="instruction set that the libraries of all processes are held to"
    )


def pytest_configure(config: pytest.Config) -> None:
    # No test pulls the plug, and most of the time of thousands of made-up records is waiting for the disk.
    os.fsync = lambda descriptor: None
    os.environ.update(instructions.switches(config.getoption("--isa"), os.environ))


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Talking:
    """A process of some code, with the project's modules, that lives until its input ends, as a rule."""

    def __init__(
        self, code: str, *arguments: object, folder: str | None = None, **environment: str
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "scripts"), **environment},
        )

    def line(self) -> str:
        return self.process.stdout.readline()

    def end(self) -> str:
        """What it has said beside the lines that were read."""
        return self.process.communicate()[0]


def required(name: str, found: dict[str, metadata.Distribution]) -> None:
    """Add a package and all that it requires here, without extras, to `found`."""
    name = name.lower().replace("_", "-")
    if name in found:
        return
    try:
        found[name] = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return  # of another platform
    for line in found[name].requires or []:
        requirement = Requirement(line)
        if not requirement.marker or requirement.marker.evaluate({"extra": ""}):
            required(requirement.name, found)


@pytest.fixture(scope="session")
def snakemake_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with Snakemake, what it requires, and nothing else: with `python -S` and this as PYTHONPATH
    it is as after `pip install snakemake`."""
    folder, packages = tmp_path_factory.mktemp("alone"), {}
    required("snakemake", packages)
    assert "snakemake" in packages and not {"numpy", "pandas", "scipy"} & packages.keys()
    for package in packages.values():
        for name in {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}:
            if not (folder / name).exists():
                (folder / name).symlink_to(package.locate_file(name))
    return folder
