"""Whose turn it is: processes that agree through files, however any of them ends."""

import fcntl
import json
import math
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scipy import stats

from measurement import machine, processes, rounds
from tests.conftest import Talking

MEMBER = """\
import sys, time
from measurement import rounds
name, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
table = rounds.Table(folder, "row")
print("arrived", flush=True)
sys.stdin.readline()
table.ready()
for _ in range(count):
    block, number = table.wait()
    with open(folder + "/turns", "a") as file:
        file.write("%s %s %d\\n" % (name, block, number))
    time.sleep(0.002)
    table.done(number, 1.0)
table.leave()
"""


class Member(Talking):
    def __init__(self, name: str, folder: Path, count: int) -> None:
        super().__init__(MEMBER, name, folder, count)
        assert self.line() == "arrived\n"

    def begin(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def ended(self) -> int:
        return self.process.wait(60)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[Member]]:
    """Four that have arrived; whatever happens they end."""
    found = [Member(name, tmp_path, 40) for name in "abcd"]
    yield found
    for each in found:
        each.process.kill()
        each.process.wait()


def turns(folder: Path) -> list[tuple[str, str, int]]:
    file = folder / "turns"
    lines = file.read_text().splitlines() if file.exists() else []
    return [(name, block, int(number)) for name, block, number in map(str.split, lines)]


def until(folder: Path, count: int) -> None:
    end = time.monotonic() + 60
    while len(turns(folder)) < count and time.monotonic() < end:
        time.sleep(0.005)


def test_each_has_a_turn_a_round_in_random_order(started: list[Member], tmp_path: Path) -> None:
    for each in started:
        each.begin()
    assert [each.ended() for each in started] == [0] * 4
    taken = turns(tmp_path)
    assert len({block for _, block, _ in taken}) == 1
    orders = [[name for name, _, number in taken if number == one] for one in range(1, 41)]
    assert all(sorted(order) == list("abcd") for order in orders)
    assert [number for *_, number in taken] == sorted(number for *_, number in taken)
    assert len({tuple(order) for order in orders}) > 5
    left = {path.name for path in (tmp_path / machine.node()).iterdir()}
    assert left == {"table.json", "table.lock"}


def test_no_round_begins_while_somebody_arrives(started: list[Member], tmp_path: Path) -> None:
    for each in started[:3]:
        each.begin()
    time.sleep(0.3)
    assert turns(tmp_path) == []
    started[3].process.kill()  # nor does it wait for the dead
    assert [each.ended() for each in started[:3]] == [0] * 3
    assert len(turns(tmp_path)) == 120


def test_the_others_go_on_when_one_is_killed_or_stopped(started: list[Member], tmp_path) -> None:
    for each in started:
        each.begin()
    until(tmp_path, 20)
    with (tmp_path / machine.node() / "table.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # nobody is stopped in the microseconds with the table
        started[0].process.kill()
        os.kill(started[1].process.pid, signal.SIGSTOP)
        while not processes.stopped(started[1].process.pid):
            time.sleep(0.001)
    assert [each.ended() for each in started[2:]] == [0, 0]
    os.kill(started[1].process.pid, signal.SIGCONT)
    assert started[1].ended() == 0
    for name in "bcd":
        numbers = [number for each, _, number in turns(tmp_path) if each == name]
        assert len(numbers) == len(set(numbers)) == 40


def test_a_table_that_is_damaged_is_begun_anew(started: list[Member], tmp_path: Path) -> None:
    for each in started:
        each.begin()
    table = tmp_path / machine.node() / "table.json"
    for number, damage in enumerate(["", "{", "[]", '{"block": 1}', None], start=1):
        until(tmp_path, 20 * number)
        with table.with_name("table.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # or somebody writes over it before it is read
            if damage is None:
                table.unlink()
            else:
                table.write_text(damage)
    assert [each.ended() for each in started] == [0] * 4
    taken = turns(tmp_path)
    assert len(taken) == len(set(taken)) == 160


def test_what_is_left_of_a_killed_run_begins_another_block(tmp_path: Path) -> None:
    lonely = Member("a", tmp_path, 5)
    lonely.process.kill()
    lonely.process.wait()
    found = json.loads((tmp_path / machine.node() / "table.json").read_text())
    assert len(found["members"]) == 1
    other = Member("b", tmp_path, 5)
    other.begin()
    assert other.ended() == 0
    assert {(block == found["block"], number) for _, block, number in turns(tmp_path)} == {
        (False, number) for number in range(1, 6)
    }


def test_decided_when_the_ratio_to_the_fastest_is_sure(tmp_path: Path) -> None:
    """Which noise that all rows of a round share does not hide; other rows do not count."""
    table = rounds.Table(str(tmp_path), "row")
    table.ready()
    name, scales = str(os.getpid()), {"fast": 1.0, "slow": 3.0}

    def note(number: int, own: float, noise: float, compared: str = "row") -> None:
        def change(found: dict) -> None:
            found["medians"][str(number)] = {
                name: [math.log(2.0 * own * noise), "row"],
                **{each: [math.log(s * noise), compared] for each, s in scales.items()},
            }

        table._changed(change)

    for number, noise in enumerate((1.0, 2.0, 0.5, 1.5)):
        note(number, 1 + 0.001 * number, noise)
    assert table.decided(0.1) and table.decided(None) and not table.decided(1e-4)
    note(9, 2.0, 1.0)
    assert not table.decided(0.1) and table.decided(None)
    for number in (0, 1, 2, 3, 9):
        note(number, 1.0, 1.0 + number, compared="another")
    assert not table.decided(0.1)  # against itself only, whose times differ
    table.leave()


@pytest.mark.parametrize("freedom", [2, 3, 7, 30])
def test_students_quantile(freedom: int) -> None:
    assert rounds.student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=0.01)
