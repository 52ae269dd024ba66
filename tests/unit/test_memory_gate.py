"""Which bias makes a cell remember, found by trying: of the project's own cells it is known."""

import numpy as np
import pytest

from measurement import checking, memory_gate
from measurement.cells import BUILT_IN, CELLS
from measurement.workload import Workload


@pytest.mark.parametrize(
    ("cell", "name"),
    [("lstm", "f"), ("gru", "z"), ("coupled", "f"), ("peephole", "f"), ("layer-norm", "b_f")],
)
def test_the_one_that_is_known(cell: str, name: str) -> None:
    (found,) = memory_gate.shifts(cell, 40).items()
    assert found == (name, pytest.approx(np.log(40) + 1.0))
    assert CELLS[cell].keeps == name
    without, with_it = (memory_gate.left(cell, 40, shift) for shift in ({}, dict([found])))
    assert without < 1e-6 < 1e-2 < with_it


def test_what_float32_cannot_tell_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_gate, "PRECISE", 1e-12)
    assert memory_gate.left("lstm", 10, {"f": 3.0}) == 0.0
    memory_gate.shifts.cache_clear()
    assert memory_gate.shifts("lstm", 10) == {}
    memory_gate.shifts.cache_clear()


def test_a_check_of_a_cell_that_nobody_described_remembers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second unit of its forget gate is shifted, the others are as they were."""
    kind = BUILT_IN["gru"]._replace(keeps=None, takes=None)
    monkeypatch.setitem(BUILT_IN, "unknown", kind)
    monkeypatch.setitem(CELLS, "unknown", kind)
    from measurement.steps import STEPS

    monkeypatch.setitem(STEPS, "unknown", STEPS["gru"])
    sizes = {"features": 3, "hidden": 4, "layers": 1, "batch": 2, "length": 40, "cell": "unknown"}
    weights = Workload(sizes, None, 0).weights()
    found = checking.remembering(weights, 40, "unknown")
    moved = found["lstm.0.bias"] - weights["lstm.0.bias"]
    memory_gate.shifts.cache_clear()
    assert moved.reshape(4, 4)[1] == pytest.approx([0, np.log(40) + 1.0] * 2)  # z of r z n.x n.h
    assert np.delete(moved.reshape(4, 4), 1, axis=0) == pytest.approx(0)
