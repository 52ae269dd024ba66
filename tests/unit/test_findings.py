"""What was found here: statements that hold come first, one that stopped to be true says so, the others are named."""

import pandas as pd
import pytest

from reporting.sections import Tables, findings
from stats import claims

ABOUT = {
    "name": "stacked-lm",
    "document": {"title": "Stacked: a model"},
    "machine_names": {"m": "a machine"},
}


def row(implementation: str, phase: str, seconds: float, machine: str = "m") -> dict:
    """A row of the table; processes are 1 % apart."""
    return {
        **{"document": "stacked-lm", "benchmark": "stacked-lm", "implementation": implementation},
        **{"environment": "e", "machine": machine, "device": "cpu", "phase": phase, "status": "ok"},
        **{"wall_s": seconds, "wall_median_s": seconds, "words_per_s": None},
        **{"kernel_schedule_s": None, "kernel_build_s": None},
        "process_medians_s": [seconds, seconds * 1.01, seconds / 1.01],
    }


def found(times: dict[str, float]) -> list[findings.Finding]:
    rows = [row(name, phase, s) for name, s in times.items() for phase in ("forward", "training")]
    tables = Tables(pd.DataFrame(rows), pd.DataFrame(), pd.DataFrame())
    return findings.analyse(tables, ABOUT).findings


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
    tables = Tables(pd.DataFrame(), pd.DataFrame(), pd.DataFrame())
    assert findings.analyse(tables, ABOUT | {"name": "cudnn-lstm-ptb"}) is None
