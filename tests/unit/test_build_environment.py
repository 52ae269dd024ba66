"""Building an environment without a network: from a wheel made here, and what goes wrong."""

import hashlib
import io
import json
import shutil
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from plan import environments, locks
from plan.environments import EnvironmentProblem
from plan.jobs import EnvironmentJob
from plan.virtual import explained, install
from tests.conftest import ROOT

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def write_wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    """A wheel of the given files that pip installs without looking anything up."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = f"{name}-{version}.dist-info"
    entries = files | {
        f"{facts}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{facts}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{entry},,\n" for entry in [*entries, f"{facts}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for entry, text in (entries | {f"{facts}/RECORD": record}).items():
            wheel.writestr(entry, text)


def build(
    folder: Path,
    builder: str,
    interpreter: str | None,
    pins: tuple[str, ...],
    name: str = "lab",
    packages: dict | None = None,
    planned: str = "",
    code: int = 0,
) -> tuple[dict, str]:
    """(record, what was printed); building must end well itself, whatever the environment. `packages`:
    {name: (version, digests)} that are locked; `planned`: the fingerprint of what it was planned with, if of another."""
    pins = ("--no-index", f"--find-links {folder}", *pins)
    lines = "".join(f"\n      - {pin}" for pin in pins)
    specification = folder / f"{name}.yaml"
    specification.write_text(f"dependencies:\n  - python ={HERE}\n  - pip\n  - pip:{lines}\n")
    lock = locks.path_of(str(specification), HERE) if packages else None
    if packages:
        made = locks.Lock(str(lock), HERE, locks.digest_of_pins(pins), packages)
        locks.write(made, HERE, "23")
    environments.forget()
    fingerprint = "0" * 8
    with suppress(EnvironmentProblem):  # where there is no such interpreter
        read = locks.read(lock) if lock else None
        parsed = environments.load(str(specification))
        fingerprint = environments.fingerprint(parsed, builder, interpreter, read)
    has = {
        **{"source": str(specification), "builder": builder, "interpreter": interpreter},
        "lock": lock and str(lock),
        **{"fingerprint": planned or fingerprint, "folder": str(folder / "venv")},
    }
    told = EnvironmentJob("lab", {"fingerprint": has["fingerprint"]}, order=has).told()
    told["failures"] = str(folder / "failures")
    arguments = ["--job", json.dumps(told), "--log", folder / "log", "--output", folder / "out"]
    command = [sys.executable, ROOT / "scripts", "build_environment", *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return {} if code else json.loads((folder / "out").read_text()), done.stderr


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, folder = tmp_path / "log", tmp_path / "not" / "there" / "yet"
    error = EnvironmentProblem("pip: ERROR: Exception:")
    assert explained(error, log, folder) == str(error)
    full = f"no space left on the disk of {folder} ("
    log.write_text("ERROR: Exception:\nOSError: [Errno 28] No space left on device\n")
    assert explained(error, log, folder).startswith(full)
    log.unlink()
    usage = shutil.disk_usage(tmp_path)._replace(free=10**6)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    assert explained(error, log, folder) == f"{full}0.0 GB now; an environment takes up to 3)"


LOCKED = ("abacus==1.5", "beads")  # the pins


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """A folder of wheels with an environment of what is locked; that, {name: (version, digests)}."""
    folder, packages = tmp_path_factory.mktemp("locked"), {}
    for name, version in (("abacus", "1.5"), ("beads", "2.0"), ("beads", "2.1")):
        write_wheel(folder, name, version, {f"{name}.py": ""})
    for name, version in (("abacus", "1.5"), ("beads", "2.0")):
        wheel = folder / f"{name}-{version}-py3-none-any.whl"
        packages[name] = (version, (hashlib.sha256(wheel.read_bytes()).hexdigest(),))
    (left := folder / "venv" / "left").parent.mkdir()  # by a build that was killed
    left.touch()
    found, printed = build(folder, "venv", sys.executable, LOCKED, packages=packages)
    assert (found["status"], printed) == ("ok", "") and not left.exists()
    assert (found["packages"]["abacus"], found["packages"]["beads"]) == ("1.5", "2.0")
    assert Path(found["lock"]).is_relative_to(folder / "locks")
    return folder, packages


def test_a_complete_one_is_taken_as_it_is(built: tuple[Path, dict]) -> None:
    folder, packages = built
    (marked := folder / "venv" / "marked").touch()
    found, _ = build(folder, "venv", sys.executable, LOCKED, packages=packages)
    assert marked.exists() and found["status"] == "ok"
    assert found["build_s"] == float((folder / "venv" / "complete").read_text()) > 0


def test_what_is_installed_is_held_against_its_lock(built: tuple[Path, dict]) -> None:
    """As where conda, or somebody by hand, has changed a package beneath the pins."""
    folder, packages = built
    changed = packages | {"beads": ("2.1", packages["beads"][1])}
    found, _ = build(folder, "venv", sys.executable, LOCKED, packages=changed)
    assert found["status"] == "failed"
    assert found["reason"].endswith("lab.txt: beads 2.1 is pinned, 2.0 is installed")


def test_no_other_file_than_the_locked_one_is_installed(built: tuple[Path, dict]) -> None:
    """Not the newer one that the index has meanwhile."""
    folder, packages = built
    python, path = folder / "venv/bin/python", folder / "lab.txt"
    write_wheel(folder, "beads", "2.0", {"beads.py": "stolen = True"})
    for said in ("beads==2.0 is not the file", "no reachable index has beads==2.0"):
        subprocess.run([python, "-m", "pip", "uninstall", "--yes", "--quiet", "beads"], check=True)
        lock = locks.Lock(str(path), HERE, "0" * 8, packages)
        with pytest.raises(EnvironmentProblem, match=f"^{path}: {said}.*ENVIRONMENT=lab"):
            install(python, environments.load(str(folder / "lab.yaml")), lock, io.StringIO())
        assert not (folder / f"venv/lib/python{HERE}/site-packages/beads.py").exists()
        (folder / "beads-2.0-py3-none-any.whl").unlink(missing_ok=True)


def test_file_that_was_changed_since_the_run_was_planned(tmp_path: Path) -> None:
    found, _ = build(tmp_path, "venv", sys.executable, pins=("abacus==1.5",), planned="1" * 8)
    assert found["status"] == "failed" and not (tmp_path / "venv").exists()
    assert "changed since the run was planned; run the same command again" in found["reason"]


def test_what_every_run_needs_ends_it(tmp_path: Path) -> None:
    _, printed = build(tmp_path, "interpreter", "/no/python", pins=(), name="corpus", code=1)
    assert "/no/python" in printed and "Traceback" not in printed
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("builder", "interpreter", "status", "said"),
    [
        ("venv", None, "unsupported", f"no Python =={HERE}.* on this machine"),
        ("interpreter", "/no/python", "failed", "/no/python does not run"),
    ],
)
def test_no_interpreter(tmp_path, builder, interpreter, status, said) -> None:
    found, _ = build(tmp_path, builder, interpreter, pins=())
    assert found["status"] == status and found["reason"].startswith(said)
    assert (tmp_path / "failures").exists() == (status == "failed")  # else nothing to try again


@pytest.mark.parametrize(
    ("name", "pin", "status", "said"),
    [
        # Its own version, which the record names.
        ("lab", "pytest==0.1", "ok", f"pytest 0.1 is pinned, {pytest.__version__} is installed"),
        # Another one than that year's.
        ("lab-2012-cuda", "pytest==0.1", "unsupported", "pytest 0.1 is pinned, "),
        ("lab", "abacus==1.5", "unsupported", f"{sys.executable} has no abacus, which "),
    ],
)
def test_named_interpreter(tmp_path: Path, name: str, pin: str, status: str, said: str) -> None:
    found, printed = build(tmp_path, "interpreter", sys.executable, (pin,), name)
    assert found["packages"]["pytest"] == pytest.__version__
    assert found["status"] == status
    assert said in (found["reason"] if status != "ok" else printed)
    assert not (tmp_path / "failures").exists()  # nothing to try again
