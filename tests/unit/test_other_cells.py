"""What is said of other cells: ratios by hand, and short files of cells."""

import re
from pathlib import Path

import pandas as pd
import pytest

from measurement.cells import CELLS
from plan import matrix
from reporting import tradeoff, words
from reporting.sections import Tables, other_cells

ABOUT = {
    "name": "flexible-yet-fast",
    "document": matrix.document("flexible-yet-fast"),
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
        **{"benchmark": f"flexible-{cell}", "implementation": implementation},
        **{"environment": implementation.split("/")[0], "label": implementation},
        **{"machine": "m", "device": "cpu", "phase": "training", "generation": "now"},
        **dict(zip(("family", "flexibility"), STYLES[implementation], strict=True)),
        **{"status": "unsupported" if seconds is None else "ok", "reason": reason},
        **{"wall_median_s": seconds, "process_medians_s": times},
        **{"start_low_s": 2.4, "start_high_s": 3.6, "build_s": 1.0, "first_step_s": 2.0},
        **dict.fromkeys(tradeoff.ONCE),
        "records": f"{implementation} {cell}",
    }


@pytest.fixture
def tables() -> Tables:
    seconds = {"pytorch/fine-grained": (0.4, 0.6), "tvm/template-tuned": (0.1, 0.12)}
    seconds["pytorch/fused"] = (0.2, None)
    rows = [
        row(name, cell, time, "" if time else "no such cell")
        for name, times in seconds.items()
        for cell, time in zip(("lstm", "slstm"), times, strict=True)
    ]
    return Tables(pd.DataFrame(rows), pd.DataFrame(), pd.DataFrame())


def test_every_implementation_and_cell_over_the_fastest_base(tables: Tables) -> None:
    """Only the asked cell has intervals in the table."""
    found = other_cells.analyse(tables, ABOUT, base="lstm", asked="slstm")
    (place,) = found.places
    assert found.cells == ["lstm", "slstm"] and place.fastest == "tvm/template-tuned"
    assert [(each.label, each.level) for each in place.styles] == [
        ("tvm/template-tuned", "fused kernel"),
        ("pytorch/fused", "fused kernel"),
        ("pytorch/fine-grained", "operators"),
    ]
    ratios = [{cell: r.ratio for cell, r in each.cells.items()} for each in place.styles]
    assert ratios[0] == pytest.approx({"lstm": 1.0, "slstm": 1.2})
    assert ratios[1] == pytest.approx({"lstm": 2.0})
    assert ratios[2] == pytest.approx({"lstm": 4.0, "slstm": 6.0})
    kernel = place.styles[0].cells["slstm"]
    assert kernel.low < 1.2 < kernel.high
    *_, table = other_cells.write(found)
    assert [row[2] for row in table.rows] == ["1.00", "2.00", "4.00"]
    assert [bool(re.search(r"\[.*\]", row[3])) for row in table.rows] == [True, False, True]


def test_every_cell_has_a_short_file_in_every_framework() -> None:
    """25 lines at most, whatever stands in them."""
    assert set(CELLS) == set(words.CELLS)
    own = Path("scripts/recurrent_cells/cells")
    for folder in (*Path("scripts/implementations").glob("*/cells"), own):
        files = [folder / f"{name.replace('-', '_')}.py" for name in CELLS]
        assert all(len(file.read_text().splitlines()) <= 25 for file in files if file.exists())
