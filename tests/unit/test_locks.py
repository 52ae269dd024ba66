"""Locks: what is read from them, and which environment file has which."""

from collections.abc import Callable
from pathlib import Path

import pytest

from plan import environments, locks
from plan.locks import Lock, LockProblem
from tests.conftest import ROOT

PINS = ("--no-index", "abacus==1.5")


def lock(folder: Path, python: str = "3.11", pins: tuple[str, ...] = PINS, **versions: str) -> Lock:
    """The lock of `lab.yaml` in a folder, written."""
    packages = {
        name: (version, ("0" * 64, "1" * 64))
        for name, version in (versions or {"abacus": "1.5"}).items()
    }
    path = locks.path_of(str(folder / "lab.yaml"), python)
    made = Lock(str(path), python, locks.digest_of_pins(pins), packages)
    locks.write(made, f"{python}.7", "23.2.1")
    return made


def test_what_is_written_is_read(tmp_path: Path) -> None:
    made = lock(tmp_path, abacus="1.5+cpu", beads="2.0")
    assert locks.read(Path(made.path)) == made
    assert made.versions == {"abacus": "1.5+cpu", "beads": "2.0"}
    assert made.requirements[1] == f"beads==2.0 --hash=sha256:{'0' * 64} --hash=sha256:{'1' * 64}"


def without_its_head(text: str) -> str:
    return "\n".join(text.splitlines()[2:])


@pytest.mark.parametrize(
    "change",
    [
        without_its_head,  # which says what it is for
        "{}--index-url https://example.org\n".format,
        "{}abacus==1.5\n".format,
        f"{{}}abacus==1.5 --hash=sha256:{'0' * 63}\n".format,
        f"{{}}abacus @ https://example.org/a.whl --hash=sha256:{'0' * 64}\n".format,
    ],
)
def test_what_is_no_lock(tmp_path: Path, change: Callable[[str], str]) -> None:
    path = Path(lock(tmp_path).path)
    path.write_text(change(path.read_text()))
    with pytest.raises(LockProblem, match=r"lab\.txt is not a lock: .* make lock ENVIRONMENT=lab$"):
        locks.read(path)


@pytest.mark.parametrize("path", sorted((ROOT / "envs/locks").glob("*/*.txt")), ids=str)
def test_each_is_of_its_pins(path: Path) -> None:
    """Otherwise nothing is built from it: make lock ENVIRONMENT=..."""
    found = locks.read(path)
    specification = environments.load(f"envs/{path.stem}.yaml")
    assert found.pins == locks.digest_of_pins(specification.pip)
    assert path.parent.name.endswith(f"-py{found.python}")
    assert specification.mismatches(found.versions) == []
