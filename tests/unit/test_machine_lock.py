"""One clock on a machine at a time; what else computes, beside others of its kind."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from measurement import machine_lock
from tests.conftest import Talking

HOLD = """\
import sys
from measurement import machine_lock
with machine_lock.hold({alone}, lambda line: print(line, flush=True){more}):
    print("begun", flush=True)
    sys.stdin.read()
"""


class Holder(Talking):
    """A process that computes until its input ends, as of a run of its own."""

    def __init__(self, file: Path | str, alone: bool, more: str = "") -> None:
        code = HOLD.format(alone=alone, more=more)
        super().__init__(code, folder=tempfile.mkdtemp(), **{machine_lock.VARIABLE: str(file)})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clock.lock"


def test_a_clock_waits_for_checks_which_do_not_for_each_other(file: Path) -> None:
    checks = [Holder(file, alone=False) for _ in range(2)]
    assert [check.line() for check in checks] == ["begun\n"] * 2
    clock = Holder(file, alone=True)
    assert clock.line().startswith("waits for process ")
    checks[0].process.kill()  # however it ends
    checks[0].end()
    checks[1].end()
    assert clock.line() == "begun\n"
    clock.end()


def test_what_nobody_wants_any_more_does_not_wait(file: Path) -> None:
    first, asking = Holder(file, alone=True), Holder(file.with_name("other"), alone=True)
    assert first.line() == asking.line() == "begun\n"
    second = Holder(file, alone=True, more=f", {asking.process.pid}")
    assert second.line().startswith("waits for ")
    asking.end()
    assert second.end() == "the workflow has ended; its processes stop too\n"
    first.end()


def test_nobody_waits_for_ever(file: Path) -> None:
    first = Holder(file, alone=True)
    assert first.line() == "begun\n"
    second = Holder(file, alone=True, more=", max_seconds=0.1")
    assert second.line().startswith("waits for ")
    said = second.end()
    assert "has kept this machine's clock for" in said and len(said.splitlines()) == 1
    assert second.process.returncode == 1
    first.end()


@pytest.mark.parametrize("kind", ["link", "pipe", "off"])
def test_where_there_can_be_no_lock_clocks_measure(tmp_path: Path, file: Path, kind: str) -> None:
    if kind == "link":
        file.symlink_to(tmp_path / "target")
    elif kind == "pipe":
        os.mkfifo(file)
    both = [Holder("" if kind == "off" else file, alone=True) for _ in range(2)]
    assert [each.line() for each in both] == ["begun\n"] * 2
    for each in both:
        each.end()
    assert not (tmp_path / "target").exists()


def test_every_user_can_wait(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine_lock.VARIABLE, str(file))
    with machine_lock.hold(True, print):
        assert stat.S_IMODE(file.stat().st_mode) & 0o444 == 0o444
