"""Every section on a table without rows, of a machine, of another one and of a GPU: it says something whole, or nothing."""

import dataclasses
import json
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import yaml

from measurement.record import read_json
from plan import matrix
from reporting import blocks, page, pages, sections, style
from reporting.sections import machines
from tests.unit import hand_made

DOCUMENTS = sorted(path.stem for path in Path("config/documents").glob("*.yaml"))
OTHER, ON_TWO = "other-8c-def456", "stacked-lm"  # another machine, and the document it measured


def entries(document: str) -> list[dict]:
    """The sections of a document, of its own page and of others."""
    about = matrix.document(document)
    return [*about["sections"], *(each for own in pages.added(about).values() for each in own)]


ALL = [(name, entry) for name in DOCUMENTS for entry in entries(name)]
# Of each section one a document and device.
CASES = list({(n, e["section"], e.get("device")): (n, e) for n, e in ALL}.values())


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """{document: {what: (tables, about)}}"""
    found = {}
    for document in DOCUMENTS:
        folder = tmp_path_factory.mktemp(document)
        with pytest.MonkeyPatch.context() as patch:
            hand_made.project(folder, None, 3, document=document)
            if document == ON_TWO:
                hand_made.project(folder, None, 3, document=document, machine=OTHER)
                config = hand_made.configuration(document, 3)
                hand_made.write_manifest(folder, document, config, OTHER)
            own = hand_made.tabulate(folder, patch, 3, document)
            cells = pd.read_parquet(own / "cells.parquet")
            about = read_json(str(own / "about.json"))
            folder = tmp_path_factory.mktemp(f"{document}-gpu")
            hand_made.project(folder, None, 3, document=document, device="gpu")
            own = hand_made.tabulate(folder, patch, 3, document, devices=("gpu",))
            on_gpu = pd.read_parquet(own / "cells.parquet"), read_json(str(own / "about.json"))
        first = about["machines"][0]["machine"]
        one = sections.read(cells, about, first)
        none = sections.Tables(one[0].cells.head(0), one[0].published)
        found[document] = {"no rows": (none, one[1] | {"trainings": []}), "a machine": one}
        found[document]["a GPU"] = sections.read(*on_gpu)
        if document == ON_TWO:
            found[document]["another"] = sections.read(cells, about, OTHER)
    return found


@pytest.mark.parametrize(
    ("document", "entry", "where"),
    [
        (document, entry, where)
        for document, entry in CASES
        for where in ("no rows", "a machine", "a GPU", *["another"] * (document == ON_TWO))
    ],
    ids=lambda value: str(value)[:60],
)
def test_section(tables: dict, document: str, entry: dict, where: str) -> None:
    """Its answer has a type and is JSON as well, does not change what it is computed from, and is written as whole blocks; its
    figure says in words what it shows."""
    found, about = tables[document][where]
    before = found.cells.copy(deep=True)
    drawn = []
    made = list(sections.analysed([entry], found, about, lambda *figure: drawn.append(figure)))
    pd.testing.assert_frame_equal(found.cells, before)
    assert dataclasses.is_dataclass(sections.load(entry["section"]).Answer)
    for part in made:
        json.dumps(part["data"], allow_nan=False)
        assert_whole([part])
        shown = [block for block in part["blocks"] if block["kind"] == "figure"]
        if shown:
            (_, figure), *_ = drawn
            assert named(figure)
            svg = style.svg(figure)
            plt.close("all")
            assert shown[0]["text"] and svg.startswith("<?xml") and "NaN" not in svg


def named(figure) -> bool:
    """Whether the axes that have numbers say of what, below or above others in the same column."""
    columns: dict = {}
    for axis in figure.axes:
        column = axis.get_subplotspec().colspan.start
        columns.setdefault(column, []).append(axis.get_xlabel())
    return all(any(labels) for labels in columns.values())


def assert_whole(parts: list[dict]) -> None:
    context = {"preliminary": False, "stand_in": False, "introduction": []}
    text = page.markdown("Title", context, parts)
    assert "nan" not in text and "None" not in text and "Undefined" not in text
    assert_whole_tables(text)


def assert_whole_tables(text: str) -> None:
    """Every row has as many cells as its heading, at most 10."""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        widths = {len(line.replace("\\|", "").split("|")) - 2 for line in lines}
        assert len(widths) <= 1, block
        assert max(widths, default=0) <= 10, block


def test_an_environment_that_could_not_be_built_is_listed(tables: dict) -> None:
    (machine,) = tables[ON_TWO]["a machine"][1]["machines"]
    about = {"preliminary": False, "stand_in": "", "introduction": []}
    missing = {"python": None, "pins": ["lasagne"], "packages": {}}
    found = {**machine, "environments": {**machine["environments"], "lasagne": missing}}
    written = blocks.as_data(machines.write([{"name": ON_TWO, "machines": [found]}]))
    text = page.markdown("", about, [{"blocks": written}])
    assert "| lasagne |" in text
    assert_whole_tables(text)


def test_every_section_is_on_a_page() -> None:
    own = yaml.safe_load(Path("config/cell/document.yaml").read_text())["sections"]
    used = {entry["section"] for entry in [*own, *(entry for _, entry in ALL)]} | {"machines"}
    assert used == {path.stem for path in Path(pages.SECTIONS).glob("*.py")} - {"__init__"}
