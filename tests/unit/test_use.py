"""What to use, and how sure that is, on times made by hand."""

import pandas as pd
import pytest

from reporting.sections import Tables, use

ABOUT = {"document": {"benchmarks": {"one": {"batch": 8}, "other": {"batch": 8}}}}


def row(name: str, benchmark: str, *times: float) -> dict:
    """A cell of today; times of its processes (s)."""
    middle = sorted(times)[len(times) // 2]
    return {
        **{"name": name, "benchmark": benchmark, "implementation": name, "status": "ok"},
        **{"machine": "m", "device": "cpu", "phase": "forward", "generation": "now"},
        **{"flexibility": "operators", "process_medians_s": list(times)},
        **{"processes": len(times), "disturbed_processes": 0},
        **{"wall_median_s": middle, "wall_s": middle, "sequences_per_s": 8 / middle},
    }


def said(*rows: dict) -> dict:
    tables = Tables(pd.DataFrame(rows), pd.DataFrame(), pd.DataFrame())
    (found,) = use.analyse(tables, ABOUT, to="infer", phase="forward")["rows"]
    return found


def test_one_shape_has_the_interval_of_two_rows() -> None:
    found = said(row("a", "one", 1, 1.01, 0.99), row("b", "one", 2, 2.02, 1.98))
    assert (found["use"], found["next"], found["sure"]) == ("a", "b", "yes")
    assert found["speed"].startswith("8 sequences/s ± ")
    assert found["margin"].startswith("2.00x [1.9")


@pytest.mark.parametrize(
    ("slower", "to_use", "following", "sure"),
    [
        ((2, 2.02, 1.98), "a", "b", "yes (1 of 2 shapes)"),
        ((1.01, 1.3, 0.9), "a or b", "–", "undecided (0 of 2 shapes): b 1.00x ["),
        ((1.001, 1.0011, 1.0009), "a or b", "–", "no difference (0 of 2 shapes): b 1.00x ["),
    ],
)
def test_several_shapes_have_that_of_their_geometric_mean(
    slower: tuple, to_use: str, following: str, sure: str
) -> None:
    """That the next best is slower on most shapes decides nothing if it is by less than their noise."""
    same = (1, 1.0001, 0.9999)
    found = said(
        *(row("a", "one", *same), row("a", "other", *same)),
        *(row("b", "one", *slower), row("b", "other", *same)),
    )
    assert (found["use"], found["next"]) == (to_use, following)
    assert found["sure"].startswith(sure)
    assert found["speed"] == "1.00 s to 1.00 s a batch, ± 0.025 % at most, 2 shapes"
    assert ("[" in found["margin"]) == (following != "–")


def test_what_comes_after_a_tie_is_the_nearest_row_that_is_none() -> None:
    close, far = (1.01, 1.3, 0.9), (3, 3.03, 2.97)
    found = said(
        row("a", "one", 1, 1.01, 0.99),
        *(row("b", "one", *close), row("far", "one", *far), row("c", "one", *close)),
    )
    assert found["use"] in ("a or b or c", "a or c or b")
    assert found["next"] == "far" and found["margin"].startswith("3.00x [")
    assert found["sure"].count("undecided: ") == 1 and found["sure"].count("1.01x [") == 2
    assert "yes" not in found["sure"]


def test_a_row_that_is_undecided_ties_wherever_it_came_out() -> None:
    """One that is slower for sure came out before it."""
    found = said(
        row("a", "one", 1, 1.001, 0.999),
        *(row("sure", "one", 1.1, 1.101, 1.099), row("noisy", "one", 1.2, 1.5, 0.9)),
    )
    assert (found["use"], found["next"]) == ("a or noisy", "sure")
    assert found["sure"].startswith("undecided: noisy 1.20x [")


def test_one_process_says_nothing_of_others() -> None:
    found = said(
        *(row("a", "one", 1), row("a", "other", 1)), *(row("b", "one", 2), row("b", "other", 2))
    )
    assert found["sure"] == "one look"
    assert "[" not in found["margin"]


def test_yes_needs_clean_processes() -> None:
    """The interval decides, but of processes that ran beside others."""
    noisy = row("b", "one", 2, 2.02, 1.98) | {"disturbed_processes": 2}
    found = said(row("a", "one", 1, 1.01, 0.99), noisy)
    assert found["sure"] == "likely; 1 of 3 processes clean"
    assert found["margin"].endswith("°")
    assert not found["speed"].endswith("°")  # of the other row
    alike = row("b", "one", 1, 1.0001, 0.9999) | {"disturbed_processes": 2}
    found = said(row("a", "one", 1, 1.0001, 0.9999), alike)
    assert found["sure"].startswith("likely no difference; 1 of 3 processes clean: b 1.00x")


def test_the_next_best_may_lack_shapes() -> None:
    """A row that has one shape of two is nearer than one that has both: it is what the best is held against."""
    same = (1, 1.0001, 0.9999)
    found = said(
        *(row("a", "one", *same), row("a", "other", *same)),
        *(row("untuned", "one", 5, 5.01, 4.99), row("untuned", "other", 5, 5.01, 4.99)),
        row("library", "other", 0.9, 0.901, 0.899),
    )
    assert (found["use"], found["next"]) == ("a", "library")
    assert found["margin"].startswith("0.90x [")
    assert found["margin"].endswith("of 2 shapes it has 1")
    assert found["sure"] == "no, it is faster (0 of 1 shapes)"
