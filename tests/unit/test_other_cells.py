"""What is said of other cells: ratios by hand, and lines of code counted from the files."""

import re
from pathlib import Path

import pandas as pd
import pytest

from measurement.cells import CELLS
from plan import matrix
from reporting import lines, page, sections, words
from reporting.sections import Tables, cell_lines, cell_rows, other_cells

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
    (place,) = found["places"]
    best, operators = place["best"], place["operators"]["fastest"]
    assert (best["label"], best["base"]) == ("tvm/template-tuned", "tvm/template-tuned")
    assert best["over"] == pytest.approx(1.2) and best["own"] == pytest.approx(1.2)
    assert best["low"] < 1.2 < best["high"] and best["ready_s"] == 3.0
    assert operators["label"] == "pytorch/fine-grained"
    assert operators["over"] == pytest.approx(6.0) and operators["own"] == pytest.approx(1.5)
    assert (operators["lines"], operators["other"]) == (9, 8)
    assert place["compiled"] is None  # no such row
    assert place["operators"]["count"] == 1 and place["operators"]["worst"] == operators
    assert best["within"].startswith("± ") and best["ready_within"] == "± 20 %≈"
    assert found["has"] == {"LSTM": ["pytorch/fused"], "sLSTM": []}


def test_operators_are_not_the_fastest_alone(tables: Tables) -> None:
    """The typical row is the middle one, of two the slower, as in the first page's first sentence."""
    cells = [tables.cells]
    for seconds in (0.8, 1.2):
        other = row("pytorch/fine-grained", "slstm", seconds)
        cells.append(pd.DataFrame([other | {"records": seconds, "label": f"{seconds} s"}]))
    more = Tables(pd.concat(cells), tables.trainings, tables.published)
    (place,) = other_cells.analyse(more, ABOUT, base="lstm", asked="slstm")["places"]
    found = place["operators"]
    assert found["count"] == 3
    assert [found[name]["over"] for name in ("fastest", "typical", "worst")] == pytest.approx(
        [6.0, 8.0, 12.0]
    )


def test_what_a_cell_takes_is_a_table(tables: Tables) -> None:
    """A line a machine and phase, below a headline with the numbers where they are two at most."""

    def shown(*machines: str) -> list[str]:
        parts = [tables.cells.assign(machine=machine) for machine in machines]
        cells = pd.concat(parts, ignore_index=True)
        found = Tables(cells.assign(records=range(len(cells))), tables.trainings, tables.published)
        about = ABOUT | {"machine_names": {machine: f"Zen {machine}" for machine in machines}}
        about |= {"introduction": [], "preliminary": False, "stand_in": ""}
        data = sections.plain(other_cells.analyse(found, about, base="lstm", asked="slstm"))
        part = {"section": "other_cells", "title": "", "data": data, "figure": None}
        return page.markdown("Title", about, [part]).splitlines()

    lines = shown("5")
    (head,) = (line for line in lines if line.startswith("**Flexible, yet fast? "))
    assert re.search(
        r"takes 1\.20 \[1\.\d+, 1\.\d+\] times the best LSTM row's time in training", head
    )
    (line,) = (line for line in lines if line.startswith("| Training |"))
    assert lines[lines.index(line) - 1].startswith("|:--")  # a table
    assert re.search(r"\| 6\.00 \[.*\]: pytorch/fine-grained \| 120 ms ± ", line)
    lines = shown("5", "4", "3")
    (head,) = (line for line in lines if line.startswith("**Flexible, yet fast? "))
    assert not re.search(r"\d", head)
    assert sum(line.startswith("| Training, Zen ") for line in lines) == 3


def test_no_answer_without_a_base(tables: Tables) -> None:
    own = tables.cells[tables.cells["benchmark"] != "flexible-lstm"]
    without = Tables(own, tables.trainings, tables.published)
    assert other_cells.analyse(without, ABOUT, base="lstm", asked="slstm") is None


def test_rows(tables: Tables) -> None:
    found = cell_rows.analyse(tables, ABOUT, base="lstm", phase="training")
    rows = found["rows"]
    assert [(each["called"], each["label"]) for each in rows] == [
        ("LSTM", "tvm/template-tuned"),
        ("LSTM", "pytorch/fused"),
        ("LSTM", "pytorch/fine-grained"),
        ("sLSTM", "tvm/template-tuned"),
        ("sLSTM", "pytorch/fine-grained"),
    ]
    assert [each["best"] for each in rows] == pytest.approx([1.0, 2.0, 4.0, 1.2, 6.0])
    assert [each["own"] for each in rows[:3]] == [None] * 3
    assert [each["own"] for each in rows[3:]] == pytest.approx([1.2, 1.5])
    assert rows[4]["written"] == "9 (8)" and rows[3]["written"] is None
    for other in ({"phase": "forward"}, {"phase": "training", "device": "gpu"}):
        assert cell_rows.analyse(tables, ABOUT, base="lstm", **other) is None


def test_a_row_a_style(tables: Tables) -> None:
    found = cell_rows.analyse(tables, ABOUT, base="lstm", phase="training")
    assert found["cells"] == {"lstm": "LSTM", "slstm": "sLSTM"}
    template, fused, operators = found["styles"]
    assert found["others"] == [template, operators]
    assert [each["label"] for each in (template, fused, operators)] == [
        "tvm/template-tuned",
        "pytorch/fused",
        "pytorch/fine-grained",
    ]
    assert template["best-slstm"] == pytest.approx(1.2)
    assert template["best-slstm_low"] < 1.2 < template["best-slstm_high"]
    assert operators["own-slstm"] == pytest.approx(1.5) and operators["own-lstm"] is None
    assert fused["best-lstm"] == pytest.approx(2.0) and "best-slstm" not in fused


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
    shown = cell_lines.analyse(tables, ABOUT | {"cell_lines": counts}, base="lstm")
    assert {framework for _, framework in shown["columns"]} == {"pytorch", "tvm"}
