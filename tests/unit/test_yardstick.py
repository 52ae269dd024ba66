"""The yardstick measures what it says, with a compiler and without, and remembers what it measured."""

import ctypes
import json
from pathlib import Path

import pytest

from measurement import yardstick


def test_work_in_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sums differ and come to 12, so the multiply-adds were done, each of them: of equal sums a compiler makes one.
    Every byte is read; the second time nothing is compiled."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library = yardstick.compiled()
    if not library:
        pytest.skip("no C compiler")
    times = (ctypes.c_double * 3)()
    library.multiply_adds(1, times)
    assert times[2] == sum(0.25 * (number + 1) + 0.5 for number in range(12))
    assert library.multiply_adds(1000, times) % (2 * 12 * 1000 * 4) == 0
    assert times[2] == 12.0 and times[1] > times[0]
    memory = library.take(1 << 20)
    assert library.read_memory(memory, 1 << 20, times) == 1 << 20
    library.give_back(memory, 1 << 20)
    assert library.hand_over(0, 2, 1e-4, times) == 1  # and waits for the other
    assert library.hand_over(1, 2, 1e-4, times) == 1
    assert library.hand_over(1, 2, 1e-4, times) == 0
    assert times[1] - times[0] >= 1e-4
    monkeypatch.setattr(yardstick, "COMPILERS", ())
    assert yardstick.compiled()
    assert len(list(tmp_path.rglob("*"))) == 2


def test_threads_add_up() -> None:
    """Units of all threads, over the time from the first start to the last end."""

    def work(number: int, times: list[float]) -> float:
        times[0], times[1] = number, number + 2.0
        return 6.0

    assert yardstick._rate(work, 3) == 18.0 / 4.0


def test_a_read_only_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert yardstick.Yardstick(1).read()["gflops"] > 0


def test_hand_overs_take_two_threads() -> None:
    if not yardstick.compiled():
        pytest.skip("no C compiler")
    alone, two = (yardstick.Yardstick(threads).read() for threads in (1, 2))
    assert alone["handovers_per_s"] is None
    assert two["handovers_per_s"] > 0
    assert (alone["threads"], two["threads"]) == (1, 2)


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(yardstick, "COMPILERS", ("no-such-compiler",))
    monkeypatch.setattr(yardstick, "BYTES", 1 << 20)
    found = yardstick.Yardstick(2).read()
    assert found["by"] == "numpy" and found["gflops"] > 0 and found["gbytes_per_s"] > 0


def test_readings_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the next process, but for what another program, or a full disk, left in their place."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert yardstick.remembered() == []
    found = yardstick.Yardstick(1).read()
    path = Path(yardstick._memory())
    with path.open("a") as stream:
        stream.write('\n{"gflops": "fast"}\n[1]\n{"gflops": 1')
    yardstick.remember(found)
    assert yardstick.remembered() == [found, found]
    length = len(json.dumps(found))
    monkeypatch.setattr(yardstick, "REMEMBERED", length)
    for _ in range(50):
        yardstick.remember(found)
    assert path.stat().st_size < 22 * length  # it begins anew
