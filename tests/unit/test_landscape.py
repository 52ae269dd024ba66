"""Sections of the map of shapes: the best row, operators over it, single calls, threads."""

import pandas as pd
import pytest

from reporting.sections import Tables, landscape, latency, thread_scaling


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
            | {"interval": "confidence", "wall_low_s": seconds, "wall_high_s": seconds}
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
    small, centre = landscape.analyse(own, ABOUT, "centre").shapes[:2]
    assert (small.name, small.next, small.value) == ("library", "kernel", 1)
    for found, ratio in ((small.margin, 2), (small.operators, 8)):
        assert found[0] == pytest.approx(ratio) and found[1] < ratio < found[2]
    assert small.share == pytest.approx(0.1) and centre.share == pytest.approx(0.25)
    assert centre.operators[0] == pytest.approx(1.5)


def test_calls_are_ordered_by_their_median_and_show_their_tail() -> None:
    own = tables(("kernel", "small", 0.2), ("library", "small", 0.1), ("peak", "small", 0.01))
    calls = latency.analyse(own, ABOUT, ["small"]).calls
    assert [each.name for each in calls] == ["library", "kernel"]
    assert calls[0].p99_s == pytest.approx(0.3)
    assert latency.analyse(own, ABOUT, ["wide"]) is None


def test_threads_are_compared_with_one_thread_of_the_same_row() -> None:
    own = tables(("kernel", "one", 0.4), ("kernel", "two", 0.25), ("library", "two", 0.1))
    (row,) = thread_scaling.analyse(own, ABOUT).rows
    assert (row.name, row.threads) == ("kernel", 2)
    assert row.speedup == pytest.approx(1.6) and row.low < 1.6 < row.high
