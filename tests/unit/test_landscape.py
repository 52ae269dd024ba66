"""Sections of the map of shapes: the best row, operators over it, single calls, threads, memory."""

import pandas as pd
import pytest

from reporting.sections import Tables, landscape, latency, memory, needs, thread_scaling


def shape(batch: int, length: int = 64, hidden: int = 256, **more: int) -> dict:
    sizes = {"features": hidden, "hidden": hidden, "layers": 1, "length": length, "batch": batch}
    return sizes | more


SHAPES = {
    "small": shape(1),
    "centre": shape(32),
    "wide": shape(32, hidden=512),
    "long": shape(32, length=128),
    "both": shape(1, length=128),
    "one": shape(32, threads=1),
    "two": shape(32, threads=2),
}
ABOUT = {"document": {"benchmarks": SHAPES}, "machine_names": {"m": "a machine"}}
ROWS = {
    "operators": ("pytorch/fine-grained", "operators"),
    "kernel": ("pytorch/fused", "fused kernel"),
    "library": ("onnxruntime/lstm", "fused kernel"),
    "peak": ("tvm/fma-peak", None),
}


def tables(*cells: tuple[str, str, float]) -> Tables:
    """(row, benchmark, seconds) of one machine whose peak is 100 GFLOP/s; a batch is 1 GFLOP."""
    found = []
    for row, benchmark, seconds in cells:
        implementation, flexibility = ROWS[row]
        found.append(
            {"machine": "m", "benchmark": benchmark, "implementation": implementation, "name": row}
            | {"generation": "now", "phase": "forward", "device": "cpu", "status": "ok"}
            | {"flexibility": flexibility, "gflops": 1 / seconds, "ratio_to_peak": seconds * 100}
            | {
                "wall_median_s": seconds,
                "process_medians_s": [seconds * f for f in (0.99, 1, 1.01)],
            }
            | {
                "processes": 3,
                "wall_s": seconds,
                "sequences_per_s": SHAPES[benchmark]["batch"] / seconds,
            }
            | {"wall_p99_s": 3 * seconds, "batches": 7, "peak_memory_bytes": 2**20 * seconds}
        )
    return Tables(pd.DataFrame(found), pd.DataFrame(), pd.DataFrame())


def test_a_line_has_what_differs_in_one_factor_alone() -> None:
    assert landscape.lines(ABOUT, "centre") == {
        "batch": {"small": 1, "centre": 32},
        "hidden": {"centre": 256, "wide": 512},
        "length": {"centre": 64, "long": 128},
    }


def test_best_row_of_each_shape_and_what_operators_take_over_it() -> None:
    own = tables(
        *(("operators", "small", 0.8), ("kernel", "small", 0.2), ("library", "small", 0.1)),
        *(("operators", "centre", 0.06), ("kernel", "centre", 0.04), ("peak", "centre", 0.01)),
        ("kernel", "wide", 0.5),
    )
    found = landscape.analyse(own, ABOUT, "centre", "small")
    small, centre = found["rows"][:2]
    assert (small["name"], small["next"], small["value"]) == ("library", "kernel", 1)
    assert small["margin"] == pytest.approx(2) and small["operators"] == pytest.approx(8)
    assert small["margin_low"] < 2 < small["margin_high"]
    assert small["operators_low"] < 8 < small["operators_high"]
    assert small["share"] == pytest.approx(0.1) and centre["share"] == pytest.approx(0.25)
    (short,) = found[
        "short"
    ]  # the centre, on three lines, counts once; one row alone is no comparison
    assert (short["shapes"], short["wins"], short["winners"]) == (2, 1, 2)
    assert short["decided"] == 1
    assert [end["value"] for end in short["operators"]] == pytest.approx([1.5, 8])
    assert all(end["low"] < end["value"] < end["high"] for end in short["operators"])
    assert [end["at"] for end in short["share"]] == ["small", "centre"]
    assert short["request"]["name"] == "library"
    assert short["request"]["wall_p99_s"] == pytest.approx(0.3)


def test_a_row_that_comes_out_fastest_may_not_be() -> None:
    own = tables(
        *(("kernel", "small", 0.1), ("library", "small", 0.1005)),
        *(("kernel", "centre", 0.04), ("library", "centre", 0.06)),
    )
    (short,) = landscape.analyse(own, ABOUT, "centre", "small")["short"]
    assert (short["winner"], short["wins"], short["decided"]) == ("kernel", 2, 1)


def test_what_the_row_of_most_wins_takes_where_another_is_faster() -> None:
    own = tables(
        *(("kernel", "small", 0.3), ("library", "small", 0.1), ("kernel", "centre", 0.04)),
        *(("library", "centre", 0.06), ("kernel", "wide", 0.5), ("library", "wide", 0.6)),
    )
    (short,) = landscape.analyse(own, ABOUT, "centre", "small")["short"]
    assert (short["winner"], short["wins"]) == ("kernel", 2)
    elsewhere = short["elsewhere"]
    assert (elsewhere["value"], elsewhere["at"]) == (pytest.approx(3), "small")
    assert elsewhere["low"] < 3 < elsewhere["high"]


def test_calls_are_ordered_by_their_median_and_show_their_tail() -> None:
    own = tables(("kernel", "small", 0.2), ("library", "small", 0.1), ("peak", "small", 0.01))
    rows = latency.analyse(own, ABOUT, ["small"])["rows"]
    assert [row["name"] for row in rows] == ["library", "kernel"]
    assert rows[0]["tail"] == pytest.approx(3) and rows[0]["share"] == pytest.approx(0.1)
    assert latency.analyse(own, ABOUT, ["wide"]) is None


def test_threads_are_compared_with_one_thread_of_the_same_row() -> None:
    own = tables(("kernel", "one", 0.4), ("kernel", "two", 0.25), ("library", "two", 0.1))
    one, two = thread_scaling.analyse(own, ABOUT)["rows"]
    assert one["threads"] == 1 and "speedup" not in one
    assert two["speedup"] == pytest.approx(1.6) and two["efficiency"] == pytest.approx(0.8)
    assert two["low"] < 1.6 < two["high"]


def test_memory_by_shape_leanest_first() -> None:
    own = tables(("kernel", "small", 3), ("library", "small", 2), ("kernel", "wide", 9))
    found = memory.analyse(own, ABOUT, ["small", "wide"])
    assert found["benchmarks"] == ["small", "wide"]
    assert [(row["name"], row["small"] / 2**20) for row in found["rows"]] == [
        ("library", 2),
        ("kernel", 3),
    ]
    assert "wide" not in found["rows"][0] and found["rows"][1]["wide"] == 9 * 2**20


def test_each_need_has_a_row_where_it_was_measured() -> None:
    own = tables(("kernel", "small", 0.2), ("library", "small", 0.1))
    asked = [{"to": "a", "benchmarks": ["small"]}, {"to": "b", "benchmarks": ["wide"]}]
    (row,) = needs.analyse(own, ABOUT, asked)["rows"]
    assert (row["to"], row["use"], row["next"]) == ("a", "library", "kernel")
