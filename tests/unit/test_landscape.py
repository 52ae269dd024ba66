"""The map of shapes: the best row, and operators over it."""

import pytest

from reporting.sections import Tables, landscape
from tests.unit import hand_made


def shape(batch: int, length: int = 64, hidden: int = 256, **more: int) -> dict:
    sizes = {"features": hidden, "hidden": hidden, "layers": 1, "length": length, "batch": batch}
    return sizes | more


SHAPES = {
    "small": shape(1),
    "centre": shape(32),
    "wide": shape(32, hidden=512),
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
        own = {"benchmark": benchmark, "phase": "forward", "name": row, "flexibility": flexibility}
        own |= {"gflops": 1 / seconds, "ratio_to_peak": seconds * 100, "processes": 3}
        own |= {"sequences_per_s": SHAPES[benchmark]["batch"] / seconds}
        own |= {"interval": "confidence", "wall_low_s": seconds, "wall_high_s": seconds}
        own |= {"wall_p99_s": 3 * seconds, "batches": 7, "peak_memory_bytes": 2**20 * seconds}
        found.append(hand_made.row(implementation, seconds, **own))
    return hand_made.tables(found)


def test_best_row_of_each_shape_and_what_operators_take_over_it() -> None:
    own = tables(
        *(("operators", "small", 0.8), ("kernel", "small", 0.2), ("library", "small", 0.1)),
        *(("operators", "centre", 0.06), ("kernel", "centre", 0.04), ("peak", "centre", 0.01)),
        ("kernel", "wide", 0.5),
    )
    small, centre = landscape.analyse(own, ABOUT, "centre").shapes[:2]
    assert (small.name, small.next, small.value) == ("library", "kernel", 1)
    for found, ratio in ((small.margin, 2), (small.operators, 8)):
        assert found.ratio == pytest.approx(ratio) and found.low < ratio < found.high
    assert small.share == pytest.approx(0.1) and centre.share == pytest.approx(0.25)
    assert centre.operators.ratio == pytest.approx(1.5)
