"""One run in a folder at a time, also where another one's process cannot be seen."""

import json
import os
import time
from pathlib import Path

import pytest

from plan import lease
from tests.conftest import Talking

HERE = "Another run is at work in this folder (process "
TAKEN = """\
import sys, time
from plan import lease
lease.BEAT_S = 0.1
lease.take()
print("taken", flush=True)
{then}
"""


class Run(Talking):
    """A process that has the folder until its input ends."""

    def __init__(self, then: str = "sys.stdin.read()", **environment: str) -> None:
        super().__init__(TAKEN.format(then=then), **environment)
        self.first = self.line()


def assert_free(**environment: str) -> None:
    """A run gets the folder, and gives it back."""
    run = Run(**environment)
    assert run.first == "taken\n"
    run.end()


def old() -> None:
    """Let the lease be as of a run whose heart has stopped."""
    then = time.time() - lease.STALE_S - 1
    os.utime(lease.FILE, (then, then))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(lease.VARIABLE, raising=False)
    return tmp_path


def left(**changes: object) -> None:
    """A lease as another host has left it, or keeps it."""
    lease.FILE.parent.mkdir()
    about = {"token": "0" * 16, "pid": 7, "container": "pid:[1]", "host": "far", "boot": "another"}
    lease.FILE.write_text(json.dumps(about | changes))


def test_of_two_that_begin_at_once_one_is_refused() -> None:
    both = [Talking(TAKEN.format(then="time.sleep(1)")) for _ in range(2)]
    said = sorted(each.end() for each in both)
    assert said[0].startswith(HERE) and said[1] == "taken\n", said
    assert len(said[0].splitlines()) == 1


def test_another_host_is_known_by_its_heartbeat() -> None:
    """Whose file system does not show its lock."""
    left()
    refused = Run()
    assert refused.first.startswith(f"{HERE}7 on far, seen ")
    refused.end()
    old()
    assert_free()


def test_a_lease_of_this_boot_without_a_lock_is_stale() -> None:
    left(boot=lease.boot())
    assert_free()


@pytest.mark.parametrize("content", ["", "[]", '{"token": ["x"]}'])
def test_what_is_no_lease_is_nobodys(content: str) -> None:
    lease.FILE.parent.mkdir()
    lease.FILE.write_text(content)
    old()
    assert_free()
    assert lease.FILE.read_text() == ""  # given back


def test_what_is_no_file_is_refused_in_one_line() -> None:
    lease.FILE.mkdir(parents=True)
    run = Run()
    assert run.first.startswith("cannot write results/run.lock: Is a directory. ")
    assert run.end() == ""


def test_a_process_of_the_run_has_what_the_run_has() -> None:
    run = Run()
    token = json.loads(lease.FILE.read_text())["token"]
    assert_free(**{lease.VARIABLE: token})
    assert json.loads(lease.FILE.read_text())["token"] == token
    outer = Run(**{lease.VARIABLE: "1" * 16})
    assert outer.first.startswith(HERE)
    outer.end()
    run.end()


@pytest.mark.parametrize("gone", [True, False])
def test_a_run_that_has_lost_its_folder_ends(gone: bool) -> None:
    """Deleted by hand, or taken by a host that saw no heartbeat."""
    run = Run("time.sleep(60)")
    if gone:
        lease.FILE.unlink()
    else:
        lease.FILE.write_text(json.dumps({"token": "2" * 16}))
    said = run.end()
    assert said == "results/run.lock belongs to another run now, or was deleted: this run stops.\n"
    assert run.process.returncode


def test_temporary_files_go_with_the_run_or_the_next_one(tmp_path: Path) -> None:
    named = tmp_path / "temporary"
    named.mkdir()
    then = "open(lease.temporary() + '/left', 'w').close(); sys.stdin.read()"
    run = Run(then, TMPDIR=str(named))
    while not list(named.glob("run-*/left")):
        time.sleep(0.01)
    run.process.kill()
    run.end()
    (folder,) = named.glob("run-*")
    other = Run(then, TMPDIR=str(named))
    while folder.exists() or not list(named.glob("run-*/left")):
        time.sleep(0.01)
    other.end()
    assert list(named.iterdir()) == []


def test_a_lease_from_elsewhere_deletes_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "run-mine"
    kept.mkdir()
    left(boot=lease.boot(), token="mine")
    Run(TMPDIR=str(tmp_path)).end()
    assert kept.exists()


def test_temporary_files_go_where_a_program_runs(tmp_path: Path, monkeypatch) -> None:
    """A TMPDIR that lets nothing run is no place for what compilers write; nor is one that takes no file."""
    usual, results, chmod = tmp_path / "usual", tmp_path / "results", os.chmod
    usual.mkdir()
    results.mkdir()

    def noexec(path: str, mode: int) -> None:
        chmod(path, mode & 0o666 if usual in Path(path).parents else mode)

    monkeypatch.setattr(os, "chmod", noexec)
    for number, place in enumerate((usual, os.devnull)):
        monkeypatch.setattr(lease.tempfile, "gettempdir", lambda place=place: str(place))
        monkeypatch.setenv(lease.VARIABLE, str(number) * 16)
        assert Path(lease.temporary()).parent == results
    assert not list(usual.iterdir())
