"""Every section on a table without rows, of one machine, of two, and of a GPU: it says something whole, or nothing."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import yaml

from measurement.record import read_json
from plan import matrix
from reporting import page, pages, sections, style
from reporting.sections import plain
from tests.unit import hand_made

DOCUMENTS = sorted(path.stem for path in Path("config/documents").glob("*.yaml"))
OTHER = "other-8c-def456"
TABLES = ("times", "shapes", "landscape", "cell_rows")  # that have a row a cell


def entries(document: str) -> list[dict]:
    """The sections of a document, of its own page and of others."""
    about = matrix.document(document)
    return [*about["sections"], *(each for own in pages.added().values() for each in own)]


ALL = [(name, entry) for name in DOCUMENTS for entry in entries(name)]
# Of each section one a document and device.
CASES = list({(n, e["section"], e.get("device"), e.get("batch")): (n, e) for n, e in ALL}.values())


def there(cell, process: int, record: dict) -> None:
    factor = 2 + len(cell.implementation) / 10
    record["samples"] = [seconds / factor for seconds in record["samples"]]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """{document: {machines: (tables, about)}}"""
    found = {}
    for document in DOCUMENTS:
        folder = tmp_path_factory.mktemp(document)
        with pytest.MonkeyPatch.context() as patch:
            hand_made.project(folder, None, 3, document=document)
            own = hand_made.tabulate(folder, patch, 3, document)
            one = sections.read(
                pd.read_parquet(own / "cells.parquet"), read_json(str(own / "about.json"))
            )
            hand_made.project(folder, there, 3, document=document, machine=OTHER)
            hand_made.write_manifest(folder, document, hand_made.configuration(document, 3), OTHER)
            own = hand_made.tabulate(folder, patch, 3, document)
            about = read_json(str(own / "about.json"))
            two = sections.read(pd.read_parquet(own / "cells.parquet"), about)
            folder = tmp_path_factory.mktemp(f"{document}-gpu")
            hand_made.project(folder, None, 3, document=document, device="gpu")
            own = hand_made.tabulate(folder, patch, 3, document, devices=("gpu",))
            about = read_json(str(own / "about.json"))
            gpu = sections.read(pd.read_parquet(own / "cells.parquet"), about)
        none = (
            sections.Tables(one[0].cells.head(0), one[0].trainings.head(0), one[0].published),
            {**one[1], "machines": [], "machine_names": {}},
        )
        found[document] = {0: none, 1: one, 2: two, "a GPU": gpu}
    return found


@pytest.mark.parametrize("machines", [0, 1, 2, "a GPU"])
@pytest.mark.parametrize(("document", "entry"), CASES, ids=lambda value: str(value)[:60])
def test_section(tables: dict, document: str, entry: dict, machines: int | str) -> None:
    """Its data is JSON, does not change what it is computed from, and its template takes it; its figure says in words
    what it shows."""
    found, about = tables[document][machines]
    before = found.cells.copy(deep=True)
    drawn = []
    made = list(sections.analysed([entry], found, about, lambda *figure: drawn.append(figure)))
    pd.testing.assert_frame_equal(found.cells, before)
    for part in made:
        json.dumps(part["data"], allow_nan=False)
        if hasattr(sections.load(part["section"]), "merge"):
            part["data"] = plain(sections.load(part["section"]).merge([part["data"]] * 2))
        context = {"machine_names": about["machine_names"], "preliminary": False}
        context |= {"stand_in": False, "introduction": []}
        text = page.markdown("Title", context, [part])
        assert "nan" not in text and "None" not in text and "Undefined" not in text
        assert_whole_tables(text)
        if part["figure"]:
            (wide, figure), (narrow, _) = drawn[:2]
            assert narrow == wide.replace(".svg", f"{sections.NARROW}.svg")
            assert named(figure)
            svg = style.svg(figure)
            plt.close("all")
            assert part["figure"]["text"] and svg.startswith("<?xml")
            assert svg == svg.replace("NaN", "")


def named(figure) -> bool:
    """Whether the axes that have numbers say of what, below or above others in the same column."""
    columns: dict = {}
    for axis in figure.axes:
        column = axis.get_subplotspec().colspan.start
        columns.setdefault(column, []).append(axis.get_xlabel())
    return all(any(labels) for labels in columns.values())


def assert_whole_tables(text: str) -> None:
    """Every row has as many cells as its heading, at most 10."""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        widths = {len(line.replace("\\|", "").split("|")) - 2 for line in lines}
        assert len(widths) <= 1, block
        assert max(widths, default=0) <= 10, block


def test_every_section_is_on_a_page() -> None:
    own = yaml.safe_load(Path("config/cell/document.yaml").read_text())["sections"]
    used = {entry["section"] for entry in [*own, *(entry for _, entry in ALL)]} | {"machines"}
    assert used == {path.stem for path in sections.FOLDER.glob("*.py")} - {"__init__"}
    assert used == {path.name.removesuffix(".md.j2") for path in sections.FOLDER.glob("*.md.j2")}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_tables_show_what_rows_measure(document: str) -> None:
    """No table shows a family that the document does not measure, and every cell but departures is in a table."""
    about = matrix.document(document)
    shown = [entry for entry in about["sections"] if entry["section"] in TABLES]
    families = {entry["implementation"]: entry["family"] for entry in matrix.implementations()}
    for cell in matrix.cells_of(document):
        if "baseline" in about["benchmarks"][cell.benchmark]:
            continue
        assert any(
            entry.get("device", cell.device) == cell.device
            and entry.get("phase", cell.phase) == cell.phase
            and families[cell.implementation]
            in entry.get("families", [families[cell.implementation]])
            and matrix.takes_part(entry.get("benchmarks", ["*"]), cell.benchmark)
            for entry in shown
        ), cell
