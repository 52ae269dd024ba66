"""The page of a cell of somebody's own, of records made by hand: its first sentence, its tables, its lines of code, and the
first page's link to it."""

import ast
import re
import sys
import types
from pathlib import Path

import pandas as pd
import pytest
import yaml

from measurement.cells import BUILT_IN
from measurement.record import read_json
from plan import matrix, own, own_cell
from reporting import own_cell_lines, sections
from reporting.sections import own_cell as own_cell_section
from tests.unit import hand_made
from tests.unit.test_sections import assert_whole

SHAPE = {"batch": 32, "length": 32, "features": 128, "hidden": 256, "layers": 1}
TIMES = {  # seconds, of the LSTM and of the cell
    "tvm/template-tuned": (0.1, 0.12),
    "pytorch/fused": (0.2, None),
    "pytorch/fine-grained": (0.4, 0.6),
}
STOPPED = {
    "iree/scan": ("unsupported", "not for this cell"),
    "jax/scan": ("incorrect", "loss is off by 0.5"),
}


def there(cell: matrix.Measurement, process: int, found: dict) -> None:
    """Times that can be followed by hand; processes are 1 % apart."""
    shape = matrix.document("cell-mine")["benchmarks"][cell.benchmark]
    mine = "cell" in shape
    seconds = TIMES.get(cell.implementation, (1.0, 1.0))[mine]
    if mine and cell.implementation in STOPPED:
        hand_made.bad(*STOPPED[cell.implementation])(found)
        return
    factor = {1: 1.0, 2: 1.01, 3: 1 / 1.01}[process]
    found["samples"] = [seconds * factor] * hand_made.BATCHES
    if mine and cell.phase == "training" and cell.implementation == "tvm/template-tuned":
        found["check"]["gradient_error"] = 3.5e-6


def described(patch: pytest.MonkeyPatch) -> None:
    """What was generated of the cell, as far as pages want it: how large its matrices are."""
    module = types.ModuleType("own.mine.reference")
    module.CELL = BUILT_IN["coupled"]._replace(keeps=None, takes=None)._asdict()
    patch.setitem(sys.modules, "own.mine", types.ModuleType("own.mine"))
    patch.setitem(sys.modules, "own.mine.reference", module)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the page."""
    made, caches = tmp_path_factory.mktemp("own"), (matrix.document, matrix.cells_of)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own, "FOLDER", made / "results/cells")
        file = own.folder_of("cell-mine") / "document.yaml"
        file.parent.mkdir(parents=True)
        document = own_cell.document("mine", "f0", "mine.py", SHAPE, ["training", "forward"])
        file.write_text(yaml.safe_dump(document, sort_keys=False))
        for each in caches:
            each.cache_clear()
        described(patch)
        hand_made.project(made, there, 3, document="cell-mine")
        hand_made.analyse(made, patch, 3, "cell-mine")
        hand_made.render(made, patch)
        yield made
        for each in caches:
            each.cache_clear()


@pytest.fixture
def text(folder: Path) -> str:
    return (folder / "results/report/cell-mine.md").read_text()


def test_the_first_sentence(text: str) -> None:
    """0.12 over 0.1, by the kernel; of that the interval of three processes 1 % apart."""
    (said,) = [line for line in text.splitlines() if line.startswith("**`mine`")]
    assert text.splitlines()[2] == said  # below the title
    low, high = map(float, re.search(r"1\.20 \[([\d.]+), ([\d.]+)\]", said).groups())
    assert 1.1 < low < 1.2 < high < 1.3
    assert said.count("Generated kernel (TVM template)") == 2 * said.count("times as long") == 6


def test_style_by_phase(folder: Path) -> None:
    data = hand_made.part(folder, "cell-mine", "own_cell")
    rows = {row["label"]: row for row in data["styles"]}
    kernel, operators = rows["Generated kernel (TVM template)"], rows["PyTorch operators"]
    assert data["styles"][0] is kernel  # the fastest first
    training = kernel["phases"]["training"]
    assert training["own"][0] == pytest.approx(1.2) == training["best"][0]
    assert kernel["error"] == pytest.approx(3.5e-6)  # the larger one of outputs' and gradients'
    assert operators["phases"]["training"]["own"][0] == pytest.approx(1.5)
    ratio, low, high, _ = operators["phases"]["forward"]["best"]
    assert ratio == pytest.approx(6.0) and low < ratio < high
    assert "PyTorch nn.LSTM" not in rows


def test_what_stopped_a_style(folder: Path, text: str) -> None:
    data = hand_made.part(folder, "cell-mine", "own_cell")
    first, second = data["stopped"]
    assert (first["status"], first["reason"]) == ("incorrect", "loss is off by 0.5")
    assert first["labels"] == ["JAX lax.scan (training)", "JAX lax.scan (forward)"]
    assert second["labels"] == ["IREE (forward)"] and "not for this cell" in text


@pytest.mark.parametrize("status", ["incorrect", "unsupported"])
@pytest.mark.parametrize("to_come", [False, True])
def test_a_cell_that_every_style_was_refused_of_says_why(status: str, to_come: bool) -> None:
    """Instead of that nothing has a number yet, unless that may be because most is still to come."""
    wrong = own_cell_section.Stopped(status, "as it is", ["a (training)"])
    shape = {"batch": 1, "length": 2, "features": 3, "hidden": 4, "layers": 1}
    answer = own_cell_section.Answer("mine", shape, "m", [], [], [], [wrong], 5, to_come, [])
    first, *_ = own_cell_section.write(answer)
    assert ("as it is" in first.text) == (status == "incorrect" or not to_come)


def test_lines_of_code(text: str) -> None:
    assert "`w_input` [D, 3 H]: f g o; `w_recurrent` [H, 3 H]: f g o; `bias` as" in text
    assert "`own`: empty. `states`, [B, H] each, begin with h = 0, c = 0." in text
    ast.parse("\n".join(own_cell_lines.of("pytorch/compiled-graph", "mine", "f", SHAPE)))


def test_every_flexible_style_that_can_win_training_has_lines() -> None:
    """Of those whose loops can be written in some lines; the others are named by their file."""
    fixed = ("cell kernel", "fused kernel", "cuDNN", "library")
    styles = {
        entry["implementation"]
        for entry in matrix.implementations()
        if "own-*" in entry["benchmarks"] and not (entry.get("phases") or entry["family"] in fixed)
    }
    others = {"jax/fine-grained", "jax/unrolled", "pytorch/fine-grained-graph"}
    assert styles - set(own_cell_lines.CODE) == others


def test_sections(folder: Path, tmp_path: Path) -> None:
    """Something whole of a GPU, too, or nothing where there are no rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own, "FOLDER", folder / "results/cells")
        described(patch)
        hand_made.project(tmp_path, there, 3, document="cell-mine", device="gpu")
        made = hand_made.tabulate(tmp_path, patch, 3, "cell-mine", devices=("gpu",))
        about = read_json(str(made / "about.json"))
        tables, about = sections.read(pd.read_parquet(made / "cells.parquet"), about)
    empty = sections.Tables(tables.cells.head(0), tables.published)
    own_ones = [{"section": "own_cell"}, {"section": "own_cell_code"}]
    for rows, count in ((tables, 2), (empty, 0)):
        parts = list(sections.analysed(own_ones, rows, about, lambda *_: None))
        assert len(parts) == count
        assert_whole(parts)
