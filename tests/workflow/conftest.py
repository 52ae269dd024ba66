"""A copy of the repository with a tiny document, and Snakemake run in it for real.

The document `tiny` has two implementations of the test framework `plain` (tests/plain, pure NumPy) in two
environments, so that what is stale can be told apart. Both environments name the interpreter that runs
these tests: nothing is installed.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest
import yaml

from measurement import machine
from measurement.record import read_json
from tests.scale import copy_repository
from tests.tiny import BENCHMARK

ROOT = Path(__file__).resolve().parents[2]
# Folders of results/ in which nothing is ever made again or overwritten.
MEASURED = ("checks", "records", "convergence", "kernels", "tuning", "environments", "corpus")
SNAKEMAKE = Path(sys.executable).parent / "snakemake"
# With <s> and </s>, a vocabulary of 11.
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "it"]
ENVIRONMENT = """\
name: {name}
dependencies:
  - python >=3.11,<4
  - pip:
      - numpy=={numpy}  # as installed
"""


def implementation(style: str, environment: str) -> dict:
    return {
        "implementation": f"plain/{style}",
        "label": f"Plain {style}",
        "family": "operators",
        "flexibility": "operators",
        "environments": [environment],
        "benchmarks": ["tiny-lm"],
        "does": "The reference itself.",
    }


@dataclass
class Project:
    """A working copy to run Snakemake in, with these options, for these targets (without any, for all)."""

    root: Path
    options: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def path(self, name: str) -> Path:
        return self.root / name

    def snakemake(self, *arguments: str, ok: bool = True) -> str:
        """Run Snakemake; returns all it prints. Fails the test unless it ends as `ok` says."""
        # More cores than most machines have: many jobs run at once, and the clock alone all the same.
        options = ["--cores", "12", "--configfile", "tiny.yaml", *self.options]
        targets = () if "--" in arguments else ("--", *self.targets)
        return self.run([SNAKEMAKE, *options, *arguments, *targets], ok)

    def run(self, command: list, ok: bool = True) -> str:
        """Likewise, a command."""
        done = subprocess.run(
            command,
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "COLUMNS": "200"},
        )
        assert (done.returncode == 0) == ok, done.stdout
        return done.stdout

    def stale(self, *arguments: str) -> set[str]:
        """Outputs of the jobs that a run would do, without `results/`."""
        listing = self.snakemake("--summary", *arguments).splitlines()
        lines = [line.split("\t") for line in listing if "\t" in line]
        rows = pd.DataFrame(lines[1:], columns=lines[0])
        pending = rows[rows["plan"] != "no update"]["output_file"]
        return {name.removeprefix("results/") for name in pending}

    def stale_cells(self, *arguments: str) -> set[str]:
        """Implementations of which a run would time a cell."""
        records = {Path(name) for name in self.stale(*arguments) if name.startswith("records/")}
        return {f"{record.parts[3]}/{record.parts[4]}" for record in records}

    def measured(self) -> dict[str, tuple[int, bytes]]:
        """{file: when it was written, and what stands in it} of all that was ever measured, below results/."""
        root = self.path("results")
        files = [file for name in MEASURED for file in root.glob(f"{name}/**/*") if file.is_file()]
        return {
            str(file.relative_to(root)): (file.stat().st_mtime_ns, file.read_bytes())
            for file in files
        }

    def cells(self) -> pd.DataFrame:
        """A row for each cell of the manifests, with its records' numbers: as in results/cells.csv."""
        manifests = sorted(self.path("results/manifests").glob("*.json"))
        return pd.DataFrame([row for file in manifests for row in self.rows(read_json(str(file)))])

    def rows(self, manifest: dict) -> Iterator[dict]:
        for cell in manifest["cells"]:
            records = [read_json(str(self.path(f"results/{name}"))) for name in cell["records"]]
            keys = ("benchmark", "implementation", "environment", "phase", "device")
            row = {key: cell[key] for key in keys} | {"machine": manifest["machine"]}
            decided = [cell] if cell["status"] else [r for r in records if r["status"] != "ok"]
            row |= {key: (decided or records)[0][key] for key in ("status", "reason")}
            row["processes"] = len(records)
            if row["status"] == "ok":
                check, samples = records[0]["check"], [record["samples"] for record in records]
                row |= {
                    "batches": sum(map(len, samples)),
                    "wall_s": fmean(map(fmean, samples)),
                    "gradient_error": check["gradient_error"],
                    "output_error": check["errors"].get("output"),
                }
            yield row

    def environments(self, implementation: str) -> set[str]:
        """Environments of the records that the manifests name for an implementation, with their fingerprints."""
        return {
            "{environment}-{fingerprint}".format(**read_json(str(file))["environment"])
            for file in self.listed(implementation)
        }

    def listed(self, implementation: str) -> list[Path]:
        """The records that the manifests name for an implementation."""
        return [
            self.path(f"results/{name}")
            for file in self.path("results/manifests").glob("*.json")
            for cell in read_json(str(file))["cells"]
            for name in cell["records"]
            if cell["implementation"] == implementation
        ]

    def edit(self, name: str, old: str, new: str) -> None:
        text = self.path(name).read_text()
        assert old in text, f"{name} has no {old!r}"
        self.path(name).write_text(text.replace(old, new))

    def configure(self, name: str, **changes) -> None:
        """Change keys of a YAML file of the copy."""
        content = yaml.safe_load(self.path(name).read_text())
        content.update(changes)
        self.path(name).write_text(yaml.safe_dump(content))

    def setting(self, name: str) -> dict:
        return yaml.safe_load(self.path("tiny.yaml").read_text())[name]

    def settings(self, **changes: object) -> None:
        self.configure("tiny.yaml", **changes)

    def set_protocol(self, **changes: object) -> None:
        self.settings(protocol=self.setting("protocol") | changes)

    def implement(self, *entries: dict) -> None:
        """Let these be all implementations, and no claim compare any."""
        self.path("config/implementations.yaml").write_text(yaml.safe_dump(list(entries)))
        self.path("config/claims.yaml").write_text("[]")


def span(record: dict) -> tuple[float, float]:
    """When a record's job began and ended, in seconds of Unix time."""
    start = datetime.fromisoformat(record["started"]).timestamp()
    return start, start + record["seconds"]


def turns(record: dict) -> Iterator[tuple[float, float]]:
    """When each turn of a record's process began, with its warm-up, and ended."""
    for look in record["looks"]:
        start = datetime.fromisoformat(look["start"]).timestamp()
        yield start - sum(look["warmup"]), start + look["interference"]["wall_s"]


def write_corpus(folder: Path) -> dict[str, str]:
    """Three small files in PTB's format; returns their digests."""
    folder.mkdir()
    digests = {}
    for split, lines in (("train", 40), ("valid", 5), ("test", 5)):
        file = folder / f"ptb.{split}.txt"
        file.write_text(
            "".join(f" {' '.join(WORDS[n % 3 :] + WORDS[: n % 3])} \n" for n in range(lines))
        )
        digests[split] = hashlib.sha256(file.read_bytes()).hexdigest()
    return digests


def make_project(folder: Path) -> Project:
    """Copy the repository's files and lay the tiny document over them."""
    copy_repository(folder)
    shutil.copytree(ROOT / "tests" / "plain", folder / "scripts" / "implementations" / "plain")
    digests = write_corpus(folder / "corpus")
    import numpy

    for name in ("plain", "second"):
        text = ENVIRONMENT.format(name=name, numpy=numpy.__version__)
        (folder / "envs" / f"{name}.yaml").write_text(text)
    document = {
        "title": "A tiny document",
        "origin": {"numbers": ["9"], "title": "Tests", "year": 2026, "hardware": "this machine"},
        "benchmarks": {"tiny-lm": BENCHMARK},
        "phases": ["forward", "training"],
        "rows": [{"families": ["operators"]}],
        "sections": [
            {"section": "bars", "title": "All, CPU", "benchmark": "tiny-lm"},
            {"section": "conclusions", "title": "What it concludes"},
            {"section": "missing"},
        ],
    }
    (folder / "config/documents/tiny.yaml").write_text(yaml.safe_dump(document))
    entries = [implementation("loop", "plain"), implementation("other", "second")]
    (folder / "config/implementations.yaml").write_text(yaml.safe_dump(entries))
    sides = {"of": {"implementation": "plain/loop"}, "to": {"implementation": "plain/other"}}
    claim = {
        **{"name": "faster", "document": "tiny", "lines": "1", "statement": "A loop is faster."},
        **{"for": {"phase": "forward"}, "ratios": {"loop": sides}, "below": 1},
    }
    (folder / "config/claims.yaml").write_text(yaml.safe_dump([claim]))
    config = {
        "documents": ["tiny"],
        "devices": ["cpu"],
        "corpus": {"path": "corpus", "sha256": digests},
        "protocol": {
            "processes": 1,
            "most_processes": 1,  # no further ones, but where a test asks for them
            "warmup_batches": 1,
            "rounds": 2,
            "most_rounds": 2,
            "look_s": 1e-9,  # a batch
            "timeout_s": 600,
        },
        "interpreters": {name: sys.executable for name in ("plain", "second", "corpus", "report")},
    }
    (folder / "tiny.yaml").write_text(yaml.safe_dump(config))
    return Project(folder)


@pytest.fixture(scope="session")
def docs() -> Path:
    """The environment of envs/docs.yaml; one of the tests' processes makes it where it is not there."""
    with open(Path(tempfile.gettempdir(), f"docs-{os.getuid()}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", ".docs/ready"], cwd=ROOT, check=True)
    return ROOT / ".docs"


def undisturbed(project: Project) -> None:
    """A busy machine, or one that is stopped on the way, disturbs processes, which would give cells other numbers of them: here
    none counts as disturbed."""
    quiet = "scripts/measurement/quiet.py"
    project.edit(quiet, "    found = []\n    for when in", "    return []\n    for when in")
    (line,) = (line for line in Path(quiet).read_text().splitlines() if line.startswith("OFF = "))
    project.edit(quiet, line, "OFF = dict.fromkeys(RATES, 1.0)")


def lend_environment(folder: Path) -> None:
    """The environment that runs these tests is a copy's `.venv`, newer than all of its pins."""
    (folder / ".venv").mkdir()
    for part in (ROOT / ".venv").iterdir():
        if part.name != "ready":
            (folder / ".venv" / part.name).symlink_to(part.resolve())
    (folder / ".venv/ready").touch()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project after its first run; tests do not change it."""
    project = make_project(tmp_path_factory.mktemp("finished"))
    project.snakemake()
    return project


def copied(project: Project, folder: Path) -> Project:
    """A copy of a finished project, Snakemake's memory included, to be changed. It measures, and makes no pages."""
    shutil.copytree(project.root, folder / "copy")  # copy2: file times are kept
    return Project(folder / "copy", targets=(manifest(),))


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    return copied(finished, tmp_path)


def manifest(name: str | None = None) -> str:
    """What names the records of the tiny document on this machine, or another one."""
    return f"results/manifests/tiny-{name or machine.facts()['machine']}.json"
