"""Locks: what is read from them, and which environment file has which."""

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


def test_comments_do_not_count(tmp_path: Path) -> None:
    path = Path(lock(tmp_path).path)
    before = locks.read(path)
    path.write_text("# why\n" + path.read_text())
    assert locks.read(path) == before


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.org",
        "abacus",
        "abacus==1.5",
        f"abacus>=1.5 --hash=sha256:{'0' * 64}",
        f"abacus==1.5 --hash=sha256:{'0' * 63}",
        f"abacus==1.5 --hash=md5:{'0' * 32}",
        f"abacus @ https://example.org/a.whl --hash=sha256:{'0' * 64}",
        "",
    ],
)
def test_what_is_no_lock(tmp_path: Path, line: str) -> None:
    path = Path(lock(tmp_path).path)
    path.write_text(f"{path.read_text()}{line}\n")
    with pytest.raises(LockProblem, match=r"lab\.txt is not a lock: .* make lock ENVIRONMENT=lab$"):
        locks.read(path)


def test_a_lock_says_what_it_is_for(tmp_path: Path) -> None:
    path = Path(lock(tmp_path).path)
    path.write_text("\n".join(path.read_text().splitlines()[2:]))
    with pytest.raises(LockProblem, match=r"lab\.txt"):
        locks.read(path)


def test_changes() -> None:
    before = {"abacus": "1.5", "beads": "2.0", "cord": "3"}
    after = {"abacus": "1.6", "cord": "3", "dust": "1"}
    assert locks.changes(before, after) == [
        "abacus: 1.5 -> 1.6",
        "beads: 2.0 -> none",
        "dust: none -> 1",
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "envs/locks").glob("*/*.txt")), ids=str)
def test_each_is_of_its_pins(path: Path) -> None:
    """Otherwise nothing is built from it: make lock ENVIRONMENT=..."""
    found = locks.read(path)
    specification = environments.load(f"envs/{path.stem}.yaml")
    assert found.pins == locks.digest_of_pins(specification.pip)
    assert path.parent.name.endswith(f"-py{found.python}")
    assert specification.mismatches(found.versions) == []
