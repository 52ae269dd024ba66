"""What is said of other cells: ratios by hand, and lines of code counted from the files."""

from pathlib import Path

import pandas as pd
import pytest

from measurement.cells import CELLS
from plan import matrix
from reporting import lines, words
from reporting.sections import Tables, cell_rows, other_cells

ABOUT = {
    "name": "flexible-yet-fast",
    "document": matrix.document("flexible-yet-fast"),
    "cell_lines": {"pytorch": {"slstm": {"lines": 9, "other": 8}}, "tvm": {}},
    "machine_names": {"m": "a machine"},
}
STYLES = {
    "pytorch/fine-grained": ("operators", "operators"),
    "pytorch/fused": ("fused kernel", "fused kernel"),
    "tvm/template-tuned": ("TVM kernel", "fused kernel"),
}


def row(implementation: str, cell: str, seconds: float | None, reason: str = "") -> dict:
    """A row of the table; processes are 1 % apart."""
    times = [] if seconds is None else [seconds, seconds * 1.01, seconds / 1.01]
    return {
        "benchmark": f"flexible-{cell}",
        "implementation": implementation,
        "environment": implementation.split("/")[0],
        **{"machine": "m", "device": "cpu", "phase": "training", "generation": "now"},
        "family": STYLES[implementation][0],
        "flexibility": STYLES[implementation][1],
        "label": implementation,
        "status": "unsupported" if seconds is None else "ok",
        "reason": reason,
        "wall_median_s": seconds,
        "process_medians_s": times,
        **{"start_low_s": 2.4, "start_high_s": 3.6},
        **{
            "build_s": 1.0,
            "first_step_s": 2.0,
            "tuning_s": None,
            "tuning_start_s": None,
            "kernel_schedule_s": None,
        },
        **{"kernel_build_s": None, "records": f"{implementation} {cell}"},
    }


@pytest.fixture
def tables() -> Tables:
    cells = pd.DataFrame(
        [
            row("pytorch/fine-grained", "lstm", 0.4),
            row("pytorch/fine-grained", "slstm", 0.6),
            row("pytorch/fused", "lstm", 0.2),
            row("pytorch/fused", "slstm", None, "no such cell"),
            row("tvm/template-tuned", "lstm", 0.1),
            row("tvm/template-tuned", "slstm", 0.12),
        ]
    )
    return Tables(cells, pd.DataFrame(), pd.DataFrame())


def test_the_answer(tables: Tables) -> None:
    found = other_cells.analyse(tables, ABOUT, base="lstm", asked="slstm")
    (place,) = found.places
    assert (place.best.label, place.base) == ("tvm/template-tuned", "tvm/template-tuned")
    assert place.best.ratio == pytest.approx(1.2) and place.best.ready_s == 3.0
    assert place.best.low < 1.2 < place.best.high
    fast, slow = place.levels["operators"]
    assert fast == slow and fast.label == "pytorch/fine-grained"
    assert fast.ratio == pytest.approx(6.0)
    assert set(place.levels) == {"operators", "fused kernel"}  # no compiled one was measured
    assert found.lines == {"PyTorch": (9, 8)}


def test_a_level_has_its_fastest_and_its_slowest(tables: Tables) -> None:
    cells = [tables.cells]
    for seconds in (0.8, 1.2):
        other = row("pytorch/fine-grained", "slstm", seconds)
        cells.append(pd.DataFrame([other | {"records": seconds, "label": f"{seconds} s"}]))
    more = Tables(pd.concat(cells, ignore_index=True), tables.trainings, tables.published)
    (place,) = other_cells.analyse(more, ABOUT, base="lstm", asked="slstm").places
    assert [each.ratio for each in place.levels["operators"]] == pytest.approx([6.0, 12.0])


def test_no_answer_without_a_base(tables: Tables) -> None:
    own = tables.cells[tables.cells["benchmark"] != "flexible-lstm"]
    without = Tables(own, tables.trainings, tables.published)
    assert other_cells.analyse(without, ABOUT, base="lstm", asked="slstm") is None


def test_every_style_and_cell_over_the_fastest_base(tables: Tables) -> None:
    found = cell_rows.analyse(tables, ABOUT, base="lstm", phase="training")
    assert found.cells == {"lstm": "LSTM", "slstm": "sLSTM"}
    assert [each.label for each in found.styles] == [
        "tvm/template-tuned",
        "pytorch/fused",
        "pytorch/fine-grained",
    ]
    template, fused, operators = (each.ratios for each in found.styles)
    assert template == pytest.approx({"lstm": 1.0, "slstm": 1.2})
    assert fused == pytest.approx({"lstm": 2.0})
    assert operators == pytest.approx({"lstm": 4.0, "slstm": 6.0})
    for other in ({"phase": "forward"}, {"phase": "training", "device": "gpu"}):
        assert cell_rows.analyse(tables, ABOUT, base="lstm", **other) is None


def test_lines_are_counted_without_what_is_no_code(tmp_path: Path) -> None:
    source = '"""Said."""\n\nimport x\n\n\ndef f(a):\n    """Said\n    twice."""\n    # and why\n    b = a  # here\n    return b\n'
    assert lines.code(source) == ["def f(a):", "    b = a  # here", "    return b"]


def test_every_cell_has_a_short_file_in_every_framework(tables: Tables) -> None:
    """25 lines at most, whatever stands in them."""
    counts = lines.of_cells("lstm")
    assert {"pytorch", "tensorflow", "tvm"} <= counts.keys()
    for framework, own in counts.items():
        assert set(own) == set(CELLS) == set(words.CELLS), framework
        assert own["lstm"]["other"] == 0
        for name in own:
            file = lines.folder(framework) / f"{name.replace('-', '_')}.py"
            assert len(file.read_text().splitlines()) <= 25, file
