"""What was found here: statements that hold come first, one that stopped to be true says so, the others are named."""

import pytest

from reporting.sections import findings
from stats import claims
from tests.unit import hand_made

ABOUT = {
    "name": "stacked-lm",
    "document": {"title": "Stacked: a model"},
    "machine_names": {"m": "a machine"},
}


def found(times: dict[str, float]) -> list[findings.Finding]:
    where = {"document": "stacked-lm", "benchmark": "stacked-lm"}
    rows = [
        hand_made.row(name, seconds, phase=phase, **where)
        for name, seconds in times.items()
        for phase in ("forward", "training")
    ]
    return findings.analyse(hand_made.tables(rows), ABOUT).findings


def test_decided_by_this_run() -> None:
    """Those that hold come first, those without a number last."""
    times = {"pytorch/fine-grained": 1.0, "pytorch/fine-grained-jit": 1.2}
    times |= {"tensorflow/graph-unrolled": 1.0, "tensorflow/graph-xla": 0.5}
    first, second, *others = found(times)
    assert (first.name, first.now.verdict) == ("torchscript-gains-nothing", claims.HOLDS)
    assert [value for value, _, _ in first.now.values] == pytest.approx([1.2, 1.2], rel=0.02)
    assert (second.name, second.now.verdict) == ("xla-gains-little", claims.FAILS)
    assert others and {each.now.verdict for each in others} == {claims.MISSING}
    assert first.means and first.refuted_by


def test_a_document_without_any_adds_nothing() -> None:
    assert findings.analyse(hand_made.tables([]), ABOUT | {"name": "cudnn-lstm-ptb"}) is None
