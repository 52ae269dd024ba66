"""The yardstick measures what it says, with a compiler and without, and judges a process by the run's best."""

import ctypes
from pathlib import Path

import pytest

from measurement import yardstick


def reading(
    gflops: float,
    gbytes_per_s: float = 20.0,
    by: str = "c",
    handovers_per_s: float | None = None,
    threads: int = 2,
) -> dict:
    rates = {"gflops": gflops, "gbytes_per_s": gbytes_per_s, "handovers_per_s": handovers_per_s}
    return rates | {"threads": threads, "by": by}


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


RUN = yardstick.best(
    [
        {"before": reading(500), "after": reading(500, 25.0)},
        {"before": reading(250), "after": reading(480, 25.0)},
        {"before": reading(9, 30.0, "numpy"), "after": reading(8, 28.0, "numpy")},
        None,
    ]
)


def test_best_of_a_run() -> None:
    assert RUN == {
        ("c", 2): {"gflops": 500, "gbytes_per_s": 25.0},
        ("numpy", 2): {"gflops": 9, "gbytes_per_s": 30.0},
    }


def test_one_lucky_reading_puts_no_other_off() -> None:
    usual, lucky = ({"before": reading(500, rate), "after": reading(500)} for rate in (20.0, 100.0))
    of_run = yardstick.best([usual, usual, lucky])
    assert not any(yardstick.flagged(each, of_run) for each in (usual, lucky))


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        (reading(500, 25.0), reading(460, 20.0), []),
        (
            reading(250, 25.0),
            reading(500, 25.0),
            ["multiply-adds before the timed batches at 0.50 of the run's best"],
        ),
        (
            reading(500, 25.0),
            reading(449, 14.0),
            [
                "multiply-adds after the timed batches at 0.90 of the run's best",
                "memory after the timed batches at 0.56 of the run's best",
            ],
        ),
        (reading(9, 29.0, "numpy"), reading(8.5, 28.0, "numpy"), []),
    ],
)
def test_flagged(before: dict, after: dict, reasons: list[str]) -> None:
    assert yardstick.flagged({"before": before, "after": after}, RUN) == reasons


def test_threads_far_from_each_other() -> None:
    """All else as fast as ever, or faster."""
    near, far = reading(500, 60.0, "c", 17e6), reading(510, 110.0, "c", 5.5e6)
    of_run = yardstick.best(6 * [{"before": near, "after": near}] + [{"before": far, "after": far}])
    assert yardstick.flagged({"before": near, "after": near}, of_run) == []
    assert yardstick.flagged({"before": near, "after": far}, of_run) == [
        "hand-overs between threads after the timed batches at 0.32 of the run's best"
    ]


def test_fast_memory_of_far_threads_puts_no_near_ones_off() -> None:
    near, far = reading(500, 55.0, "c", 17e6), reading(510, 105.0, "c", 5.5e6)
    of_run = yardstick.best(
        4 * [{"before": near, "after": near}] + 6 * [{"before": far, "after": far}]
    )
    assert yardstick.flagged({"before": near, "after": near}, of_run) == []
    assert len(yardstick.flagged({"before": far, "after": far}, of_run)) == 2
    slow = reading(500, 40.0, "c", 17e6)
    assert yardstick.flagged({"before": slow, "after": near}, of_run) == [
        "memory before the timed batches at 0.73 of the run's best"
    ]


def test_one_thread_is_not_held_against_two() -> None:
    one, two = reading(250, 30.0, threads=1), reading(500, 60.0, "c", 17e6)
    of_run = yardstick.best(4 * [{"before": two, "after": two}] + [{"before": one, "after": one}])
    assert yardstick.flagged({"before": one, "after": one}, of_run) == []


def test_nothing_to_compare() -> None:
    assert yardstick.flagged(None, RUN) == []
    assert yardstick.flagged({"before": reading(1), "after": reading(1)}, {}) == []
