"""What flexibility costs, on times that can be divided by hand: by phase, over the fastest and over the framework's own kernel."""

import re

import pandas as pd
import pytest

from reporting import cards
from reporting.measured import Measured
from tests.unit import hand_made

LEVELS = {
    "pytorch/fused": "fused kernel",
    "pytorch/fine-grained": "operators",
    "pytorch/by-hand": "operators",
    "tensorflow/graph-while": "operators in a loop",
}
SECONDS = {
    "training": dict(zip(LEVELS, (2.0, 10.0, 9.0, 8.0), strict=True)),
    "forward": dict(zip(LEVELS, (1.0, 3.0, 4.0, 6.0), strict=True)),
}
EXPECTED = {"training": (4.0, 5.0, [4.5, 5.0]), "forward": (3.0, 6.0, [3.0, 4.0])}


@pytest.fixture
def measured() -> Measured:
    rows = [
        hand_made.row(name, seconds, phase=phase, flexibility=LEVELS[name])
        | {"records": f"{name} {phase}"}
        | {"looks": ["block 1 1"] if name == "tensorflow/graph-while" else None}
        for phase, own in SECONDS.items()
        for name, seconds in own.items()
    ]
    about = {"name": "d", "machines": [{"machine": "m", "days": ["2026-01-01"], "facts": None}]}
    about |= {"document": {"benchmarks": {}}}
    return Measured([(hand_made.tables(rows), about)], "m", {"benchmark": "b"})


@pytest.mark.parametrize("phase", SECONDS)
def test_fastest_and_slowest_operators_over_the_fastest_of_all(measured, phase: str) -> None:
    cost, (least, most, within) = measured.costs[phase], EXPECTED[phase]
    assert cost.fastest["implementation"] == "pytorch/fused"
    assert (cost.least.ratio, cost.most.ratio) == pytest.approx((least, most))
    assert cost.least.low < least < cost.least.high
    assert [*cost.within] == ["PyTorch"]
    assert [over.ratio for over in cost.within["PyTorch"]] == pytest.approx(within)


def test_custom_cells_over_their_frameworks_kernel_or_the_fastest_of_all(
    measured: Measured,
) -> None:
    rows = [row for group in cards.custom(measured).groups.values() for row in group]
    found = [[name, *(re.findall(r"\[([\d.]+)\]", c) for c in cells)] for name, *cells in rows]
    assert found == [
        ["pytorch/by-hand", ["4.50"], ["4.00"]],  # the fastest in training, in both phases
        ["tensorflow/graph-while", ["4.00"], ["6.00"]],
    ]


def test_a_kernel_with_one_thing_changed_over_itself(measured: Measured) -> None:
    """In the phases that were measured so; its own rows, not those of other implementations."""
    cells = measured.cells.assign(output_error=1e-6)
    half = cells[cells["phase"] == "forward"].assign(benchmark="half", output_error=9e-3)
    half["process_medians_s"] = [[each / 4 for each in own] for own in half["process_medians_s"]]
    half["records"] += " half"
    benchmarks = {"b": {}, "half": {"baseline": "b", "data_type": "bfloat16"}, "none": {}}
    tables = hand_made.tables(pd.concat([cells, half]))
    settings = {"benchmark": "b", "fused": "pytorch/fused", "varied": ["half", "none"]}
    parts = [(tables, {"name": "d", "document": {"benchmarks": benchmarks}})]
    (rows,) = cards.varied(Measured(parts, "m", settings)).groups.values()
    ((name, training, inference),) = rows
    assert "bfloat16" in name and "9e-3" in name and training == "–"
    assert inference.startswith("0.25 ") and "](" not in inference  # the explorer has no such ratio


def test_frameworks_that_a_run_left_out() -> None:
    """Of what can be installed; one that was measured in another implementation is not left out."""
    names = ["pytorch/fused", "pytorch/cell", "onnxruntime/lstm", "tvm/template-tuned"]
    own = {"phase": "forward", "flexibility": "fused kernel", "status": "not-run"}
    rows = [hand_made.row(name, 1.0, **own) for name in names]
    rows[0]["status"] = "ok"
    measured = Measured([(hand_made.tables(rows), {})], "m", {})
    assert measured.left_out(measured.rows("b", "forward")) == ["ONNX Runtime"]
