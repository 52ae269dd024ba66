"""Locking an environment without a network: from wheels made here."""

import ensurepip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from commands import lock_environment
from plan import environments, locks
from tests.conftest import ROOT

from .test_build_environment import HERE, write_wheel

ENVIRONMENT = """\
dependencies:
  - python ={python}
  - pip
  - pip:
      - --no-index
      - --find-links {wheels}
      - --find-links {bundled}
      - abacus==1.5
      - string-of-beads
"""


def run(folder: Path, *arguments: str, ok: bool = True) -> str:
    command = [sys.executable, ROOT / "scripts", "lock_environment", "lab", *arguments]
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert (done.returncode == 0) == ok, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with envs/lab.yaml, the wheels that it asks for, and the lock of what was found at first."""
    folder = tmp_path_factory.mktemp("lab")
    for name, version in (("abacus", "1.5"), ("string_of_beads", "2.0")):
        write_wheel(folder / "wheels", name, version, {f"{name}.py": ""})
    (folder / "envs").mkdir()
    bundled = Path(ensurepip.__file__).with_name("_bundled")  # what every environment starts with
    facts = {"python": HERE, "wheels": folder / "wheels", "bundled": bundled}
    (folder / "envs/lab.yaml").write_text(ENVIRONMENT.format(**facts))
    printed = run(folder)
    assert "lab: abacus: none -> 1.5\n" in printed
    assert "lab: string-of-beads: none -> 2.0\n" in printed
    return folder


def found(lab: Path) -> locks.Lock:
    return locks.read(lab / locks.path_of("envs/lab.yaml", HERE))


def test_all_is_locked_but_pip(lab: Path) -> None:
    assert {"abacus", "string-of-beads"} <= found(lab).versions.keys()
    assert "pip" not in found(lab).versions
    assert all(len(digests) == 1 for _, digests in found(lab).packages.values())


def test_renewed(lab: Path) -> None:
    """Says what is new; of a version that stays, a file that was verified before remains so."""
    before = found(lab)
    write_wheel(lab / "wheels", "string_of_beads", "2.1", {"string_of_beads.py": ""})
    write_wheel(lab / "wheels", "abacus", "1.5", {"abacus.py": "beads = 12"})
    assert run(lab) == "lab: string-of-beads: 2.0 -> 2.1\n"
    after = found(lab)
    assert set(before.packages["abacus"][1]) < set(after.packages["abacus"][1])
    assert len(after.packages["string-of-beads"][1]) == 1


def test_resolved_without_installing(lab: Path) -> None:
    """The same versions and digests, but of what every environment starts with; a lock that says how it was made."""
    before, path = found(lab), lab / locks.path_of("envs/lab.yaml", HERE)
    path.unlink()
    printed = run(lab, "--resolve")
    assert "lab: abacus: none -> 1.5\n" in printed
    after = found(lab)
    own = {name: before.versions[name] for name in ("abacus", "string-of-beads")}
    assert after.versions == own
    assert after.packages["string-of-beads"] == before.packages["string-of-beads"]
    assert path.read_text().startswith("# lab: what `make lock ENVIRONMENT=lab RESOLVE=1` found,")


def test_a_cpu_build_is_no_lock_of_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"metadata": {"name": "Abacus", "version": "1.5+cpu"}}
    found["download_info"] = {"archive_info": {"hashes": {"sha256": "0" * 64}}}

    def pip(python: Path, arguments: list[str], log: object) -> None:
        report = Path(arguments[arguments.index("--report") + 1])
        report.write_text(json.dumps({"install": [found]}))

    def resolved(name: str) -> tuple[dict, dict]:
        specification = environments.Specification(name, SpecifierSet(), (), ("abacus==1.5",))
        return lock_environment.resolved(tmp_path / "python", specification, tmp_path)

    monkeypatch.setattr(lock_environment, "run_pip", pip)
    assert resolved("lab") == ({"abacus": "1.5+cpu"}, {"abacus": "0" * 64})
    with pytest.raises(environments.EnvironmentProblem):
        resolved("lab-cuda")


def test_problems_take_one_line(lab: Path) -> None:
    printed = run(lab, "--from", sys.prefix, ok=False)
    assert re.fullmatch(r"lock: lab: .* envs/lab\.yaml: abacus 1\.5 .*\n", printed)
    (lab / "envs/lab.yaml").unlink()
    assert run(lab, ok=False).startswith("lock: lab: envs/lab.yaml does not exist; ")
