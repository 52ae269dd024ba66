"""What a process has loaded is what its result is named after, or the result counts for nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from measurement import packages, provenance, supervisor
from measurement.record import sha256
from plan import copies, sources
from tests.conftest import ROOT

ENTRY = "scripts/measurement/cells.py"
LOADS = "import sys; sys.path.insert(0, {scripts!r}); from measurement import {names}, provenance; "
ASKS = "provenance.require_planned({digest!r})"


def test_the_commit_of_a_repository_around_a_download_is_not_ours(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv(supervisor.RUN, raising=False)

    def found(folder: Path) -> dict | None:
        file = folder / "scripts/measurement/supervisor.py"
        file.parent.mkdir(parents=True)
        file.touch()
        for command in (["init", "--quiet"], ["add", "."], ["commit", "-qm", "theirs"]):
            person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
            subprocess.run(["git", *person, *command], cwd=tmp_path, check=True)
        monkeypatch.setattr(supervisor, "SCRIPTS", str(folder / "scripts"))
        return supervisor.repository()

    assert found(tmp_path / "download") is None
    assert found(tmp_path) is not None


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project of a few scripts, none of it a git checkout."""
    for name in ("__init__", "cells", "provenance", "packages", "record", "departures"):
        file = tmp_path / "scripts" / "measurement" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((ROOT / "scripts" / "measurement" / file.name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(supervisor.RUN, "{}")
    yield tmp_path
    sources.read_from(Path())


def plan() -> tuple[Path, str]:
    """(the scripts of a run's copy, the digest of what `cells` and what asks are)."""
    scripts = copies.take()
    return scripts, sources.digest(ENTRY, "scripts/measurement/provenance.py")


def ask(scripts: Path, digest: str, names: str = "cells", more: str = "") -> str:
    """The last line of a process that loads modules of a folder and asks whether they were planned; "" if so."""
    loads = LOADS.format(scripts=str(scripts.resolve()), names=names)
    code = loads + more + ASKS.format(digest=digest)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def test_a_file_of_the_copy_that_is_another_one_by_now(project: Path) -> None:
    scripts, digest = plan()
    (project / ENTRY).write_text("raise SystemExit('edited')")  # which the copy is not
    assert ask(scripts, digest) == ""
    file = scripts / "measurement" / "cells.py"
    file.chmod(0o644)
    for change, said in (
        (lambda: file.write_text(file.read_text() + "\n"), "was changed"),  # each byte
        (file.unlink, "was deleted"),
    ):
        change()
        found = ask(scripts, digest, "record")
        assert f"measurement/cells.py {said} since the run was planned" in found
        assert found.endswith("run the same command again")


def test_a_file_that_the_plan_forgot(project: Path) -> None:
    scripts, digest = plan()
    found = ask(scripts, digest, "cells, departures")
    assert "scripts/measurement/departures.py was loaded, but the plan does not include it" in found


def test_a_module_of_the_project_itself(project: Path) -> None:
    """As one that another module imports by a path of its own would be."""
    scripts, digest = plan()
    (project / "scripts" / "stray.py").write_text("")
    more = f"sys.path.append({str(project / 'scripts')!r}); import stray; "
    assert f"{project}/scripts/stray.py was loaded" in ask(scripts, digest, more=more)


def test_what_a_module_compiles_counts(project: Path) -> None:
    (project / "scripts/measurement/cells.cu").write_text("one")
    scripts, digest = plan()
    assert ask(scripts, digest) == ""
    (scripts / "measurement/cells.c").write_text("added since")
    assert "cells.c was loaded, but the plan does not include it" in ask(scripts, digest)


def test_a_list_of_planned_files_that_is_gone_is_told(project: Path) -> None:
    scripts, digest = plan()
    noted = Path(provenance.list_path(str(scripts.parent), digest))
    noted.unlink()
    assert f"{noted.name} is damaged (it is missing)" in ask(scripts, digest)


def test_copies_are_named_by_every_byte_and_made_once(project: Path) -> None:
    first, digest = plan()
    os.environ[supervisor.RUN] = "{}"
    times = {file: file.stat().st_mtime_ns for file in first.rglob("*.py")}
    assert copies.take() == first and {f: f.stat().st_mtime_ns for f in times} == times
    (project / ENTRY).write_text((project / ENTRY).read_text() + "# a comment\n")
    assert copies.take() == first  # of a run, as long as it lasts
    os.environ[supervisor.RUN] = "{}"
    other, same = plan()
    assert other != first and same == digest


def test_a_copy_that_is_not_whole_is_made_anew(project: Path) -> None:
    scripts, _ = plan()
    file = scripts / "measurement" / "cells.py"
    file.chmod(0o644)
    file.write_text("cut")
    os.environ[supervisor.RUN] = "{}"
    assert copies.take() == scripts
    assert file.read_bytes() == (project / ENTRY).read_bytes()


def test_records_name_the_commit_that_the_run_began_with(project: Path) -> None:
    copies.take()
    given = json.loads(os.environ[supervisor.RUN]) | {"repository": {"commit": "1", "dirty": False}}
    os.environ[supervisor.RUN] = json.dumps(given)
    assert supervisor.repository() == {"commit": "1", "dirty": False}


def test_a_library_that_was_swapped(tmp_path: Path) -> None:
    library, result = tmp_path / "kernel.so", str(tmp_path / "kernel.json")
    library.write_bytes(b"one")
    read = {result: {"sha256_beside": {"kernel.so": sha256(str(library))}}}
    provenance.require_beside(read)
    library.write_bytes(b"two")
    with pytest.raises(provenance.Changed, match=r"kernel\.so was changed since the run"):
        provenance.require_beside(read)


class TestPackages:
    @pytest.fixture
    def site(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """An environment with one package."""
        found = tmp_path / "site-packages"
        self.install(found, "1.5", "abacus.py,sha256=one,3\n")
        monkeypatch.setattr(sys, "path", [str(found)])
        monkeypatch.delenv("PYTHONPATH", raising=False)
        return found

    @staticmethod
    def install(site: Path, version: str, files: str) -> None:
        facts = site / f"abacus-{version}.dist-info"
        facts.mkdir(parents=True, exist_ok=True)
        facts.joinpath("METADATA").write_text(f"Name: abacus\nVersion: {version}\n")
        facts.joinpath("RECORD").write_text(files)

    @staticmethod
    def record(builder: str = "venv") -> dict:
        found = {"packages": packages.installed(), "installed": packages.mark()}
        return found | {"environment": "lab", "builder": builder}

    def test_another_version(self, site: Path) -> None:
        before = self.record()
        provenance.require_packages(before)
        (site / "abacus-1.5.dist-info").rename(site / "abacus-1.6.dist-info")
        self.install(site, "1.6", "abacus.py,sha256=one,3\n")
        with pytest.raises(provenance.Changed, match=r"lab .*abacus was 1\.5 and is 1\.6; delete"):
            provenance.require_packages(before)

    def test_another_build_of_the_same_version(self, site: Path) -> None:
        before = self.record("interpreter")
        self.install(site, "1.5", "abacus.py,sha256=two,3\n")
        with pytest.raises(provenance.Changed, match=r"another build .*run the same command"):
            provenance.require_packages(before)

    def test_what_only_this_process_was_given_is_no_package(self, site: Path, monkeypatch) -> None:
        before = self.record()
        other = site.parent / "other" / "site-packages"
        self.install(other, "2.0", "")
        monkeypatch.setattr(sys, "path", [str(site), str(other)])
        monkeypatch.setenv("PYTHONPATH", str(other))
        provenance.require_packages(before)
