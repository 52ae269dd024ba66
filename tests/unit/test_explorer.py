"""The first page and the explorer, on hand-made records of two machines, the explorer in a browser where there is one."""

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
import pytest
from playwright.sync_api import Page, expect, sync_playwright

from plan.matrix import Measurement
from reporting import front, pages, sections, talks
from reporting.measured import Measured
from stats import estimates

from . import hand_made

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OTHER = "other-8c-def456"
# {document: some of its benchmarks, which lines over batches, lengths, sizes and layers are made of}
LINES = "cell-512 layer-128x128x* layer-*x128x128 stack-64x100x64-d? request-*"
DOCUMENTS = {
    "stacked-lm": ["stacked-lm", "stacked-lm-*"],
    "tvm-lstm": LINES.split(),
    "number-formats": ["formats-gru"],
}
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>')


def noisy(cell: Measurement, process: int, record: dict) -> None:
    """Processes differ by some per cent; one row has too few for an interval, another none that ended well."""
    record["samples"] = [s * (1 + 0.02 * (process - 2)) for s in record["samples"]]
    if cell.implementation == "pytorch/cell":
        hand_made.bad("incorrect", "an <b>error</b>")(record)


def turns(cell: Measurement, process: int, record: dict) -> None:
    """Of another machine, whose implementations took turns: its level changes from round to round, and each looks a little
    different to every implementation. The last process lacks a round, so that medians are not compared like with like."""
    noisy(cell, process, record)
    if "samples" not in record:
        return
    own = len(cell.implementation)
    faults, interference = record["faults"][:1], record["interference"]
    record["looks"] = [
        {
            **{"block": cell.benchmark, "round": k, "life": 1, "start": record["started"]},
            **{"batches": [seconds], "faults": faults, "warmup": [1.0]},
            "interference": interference,
        }
        for k in range(1, 8 - (process == 3))
        for seconds in [record["samples"][0] / (1 + own % 3) * 1.2**k * (1 + (k * own) % 7 / 100)]
    ]
    rates = {"gflops": 1.0, "gbytes_per_s": 1.0, "handovers_per_s": None, "threads": 2, "by": "c"}
    record["yardstick"] = {"before": rates, "after": rates}
    record["samples"] = [look["batches"][0] for look in record["looks"]]
    record["faults"] = faults * len(record["looks"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two documents on two machines."""
    folder, other = (tmp_path_factory.mktemp(name) for name in ("here", "there"))
    with pytest.MonkeyPatch.context() as patch:
        for document, some in DOCUMENTS.items():
            how = {"document": document, "benchmarks": some}
            hand_made.project(other, turns, 3, machine=OTHER, **how)
            config = hand_made.configuration(document, 3, benchmarks=some)
            hand_made.write_manifest(other, document, config, OTHER)
            hand_made.project(folder, noisy, 3, **how)
            hand_made.analyse(folder, patch, 3, also_report=(other / "results",), **how)
        hand_made.render(folder, patch)
    return folder / "results/report"


@pytest.fixture(scope="module")
def data(folder: Path) -> dict:
    html = (folder / "index.html").read_text()
    return json.loads(DATA.search(html)[1])


@pytest.fixture(scope="module")
def measured(folder: Path) -> pd.DataFrame:
    tables = (hand_made.table(folder.parents[1], name) for name in DOCUMENTS)
    table = pd.concat(map(sections.with_noise, tables))
    return table[table["status"] == "ok"]


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Page]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not path:
        pytest.skip(f"no browser on PATH: {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page, errors = browser.new_page(), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((folder / "index.html").as_uri())
        yield page
        browser.close()
    assert errors == []


def view(page: Page, folder: Path, **state: str) -> None:
    page.goto("about:blank")
    page.goto(f"{(folder / 'index.html').as_uri()}#{urlencode(state)}")


def shown(page: Page) -> list[dict[str, str]]:
    """The rows of the CSV that the page offers."""
    with page.expect_download() as download:
        page.locator("#csv").click()
    return list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))


def test_every_number_is_there(data: dict, measured: pd.DataFrame) -> None:
    place, scale = data["columns"].index("wall_median_s"), data["scales"]["wall_median_s"]
    found: list[float] = []
    for group in data["groups"]:
        column = group["rows"][place]
        found += column if isinstance(column, list) else [column] * len(group["rows"][-1])
    assert len(found) == len(measured) > 100
    medians = pytest.approx(sorted(measured["wall_median_s"]), 1e-5)
    assert sorted(each / scale for each in found) == medians


@pytest.mark.parametrize("baseline", ["pytorch/fused@pytorch", "onnxruntime/lstm@onnx"])
def test_ratios_are_those_of_the_pages(
    page: Page, folder: Path, measured: pd.DataFrame, baseline: str
) -> None:
    """Within rounds, as these implementations took turns; and as cells.csv has them to nn.LSTM."""
    name = "layer-128x128x128"
    of_one = measured[(measured["benchmark"] == name) & (measured["machine"] == OTHER)]
    of_one = of_one[(of_one["device"] == "cpu") & (of_one["phase"] == "forward")].to_dict("records")
    (base,) = (r for r in of_one if f"{r['implementation']}@{r['environment']}" == baseline)
    own = {f"{row['wall_median_s']:.6g}": row for row in of_one}
    view(page, folder, benchmark=name, machine=OTHER, phase="forward", baseline=baseline)
    rows = shown(page)
    assert len(rows) > 3
    for row in rows:
        cell = own[f"{float(row['wall_median_s']):.6g}"]
        if cell is own[f"{base['wall_median_s']:.6g}"]:
            continue
        found = [float(row[key]) for key in ("ratio", "ratio_low", "ratio_high")]
        times = (each["process_medians_s"] for each in (cell, base))
        expected = estimates.ratio(*([each] for each in times))[:3]
        assert found == pytest.approx(expected, rel=2e-4)
        if baseline.startswith("pytorch/fused"):
            ends = (cell[f"ratio_to_torch{end}"] for end in ("", "_low", "_high"))
            assert found == pytest.approx([*ends], rel=2e-4)


def test_every_selector_changes_what_is_shown(page: Page, folder: Path) -> None:
    view(page, folder, benchmark="stacked-lm")
    bars = page.locator(".bars tbody tr:not(.level)")
    count = bars.count()
    page.locator("#document").select_option("tvm-lstm")
    page.locator("#benchmark").select_option("stack-64x100x64-d4")
    expect(page.locator("#table tbody tr").first).to_contain_text("stack-64x100x64-d4")
    page.get_by_label("over layers", exact=True).check()
    expect(page.locator("#lines svg")).to_be_visible()
    for _ in range(3):
        page.go_back()
    expect(bars).to_have_count(count)
    page.get_by_role("radio", name="all since").check()
    assert bars.count() > count
    page.get_by_label("PyTorch", exact=True).uncheck()
    expect(page.locator(".bars").get_by_text("nn.LSTM")).to_have_count(0)
    others = page.get_by_role("group", name="Frameworks").get_by_role("checkbox", checked=True)
    while others.count():
        others.first.click()
    expect(page.locator("#table tbody tr")).to_have_count(0)
    page.get_by_label("PyTorch", exact=True).check()
    page.locator("#machine").select_option(OTHER)
    page.get_by_label("products and peak").check()
    expect(page.locator(".bars")).to_contain_text("Reference point")
    page.get_by_role("radio", name="forward").check()
    address = page.url.partition("#")[2].split("&")
    assert {"phase=forward", f"machine={OTHER}", "limits=1"} <= {*address}


def test_an_address_restores_its_view(page: Page, folder: Path) -> None:
    view(page, folder, benchmark="stacked-lm", phase="forward", baseline="pytorch/fused@pytorch")
    page.locator("#table th[data-key=ratio] button").click()
    page.locator("#table th[data-key=ratio] button").click()
    address, text = page.url, page.locator("#explorer").inner_text()
    ratios = [float(row["ratio"]) for row in shown(page)]
    assert ratios == sorted(ratios, reverse=True)
    page.goto("about:blank")
    page.goto(address)
    assert page.locator("#explorer").inner_text() == text
    detail = page.locator("#detail")
    expect(detail).to_contain_text("scripts/implementations/pytorch/fused.py")
    expect(detail).to_contain_text("pip install torch")
    expect(page.locator("#missing")).to_contain_text("an <b>error</b>")


def test_a_row_is_called_after_its_cell_and_has_the_version_of_what_it_runs_in(
    page: Page, folder: Path
) -> None:
    view(page, folder, benchmark="formats-gru", phase="forward")
    rows = {row["name"]: row["version"] for row in shown(page)}
    assert "PyTorch nn.GRU" in rows and rows["recurrent_cells"].startswith("PyTorch ")


def test_an_address_that_is_not_known_is_said_and_replaced(page: Page, folder: Path) -> None:
    view(page, folder, benchmark="nothing-like-it", phase="forward")
    expect(page.locator("#headline")).to_contain_text("nothing-like-it")
    assert "nothing-like-it" not in page.url and "phase=forward" in page.url


def test_the_keyboard_is_enough(page: Page, folder: Path) -> None:
    view(page, folder, benchmark="stacked-lm")
    button = page.locator(".bars button").nth(3)
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".bars button:focus")).to_have_attribute("aria-pressed", "true")
    page.locator("#phase-training").focus()
    page.keyboard.press("ArrowLeft")
    assert "phase=forward" in page.url and page.locator("#phase-forward:focus").count() == 1


def test_it_fits_a_telephone(page: Page, folder: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    view(page, folder, baseline="pytorch/fused@pytorch")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.set_viewport_size({"width": 1280, "height": 800})


def test_the_first_page_says_what_was_measured(folder: Path) -> None:
    text = (folder / "index.md").read_text()
    assert sum(bool(word.strip("|:-")) for word in text.split()) < 700  # rules of tables are none
    assert all(f"({name}.md)" in text for name in DOCUMENTS)
    (figure,) = re.findall(r"\]\((figures/\S+\.svg)\)", text)
    assert (folder / figure).is_file()
    assert not re.search(r"nan|None|\]\(#", text)


def test_of_nothing_measured_nothing_is_said(measured: pd.DataFrame) -> None:
    empty = measured.head(0).assign(flexibility="", generation="", name="")
    parts = [(sections.Tables(empty, empty), {"machines": []})]
    found = Measured(parts, "m", pages.settings()["first_page"])
    assert list(talks.figures(found)) == [] and front.front(found, []).cards == []


def test_each_page_leads_to_that_of_other_machines() -> None:
    found = pages.switch({"a": "A", "b": "B", "c": "C"}, "b", "index")
    assert [each["href"] for each in found] == ["../../index.html", "", "../c/index.html"]


def test_another_machine_has_a_folder_of_its_own(folder: Path, measured: pd.DataFrame) -> None:
    """With the same pages, whose numbers are its own; links of all pages lead somewhere, and a page compares the machines."""
    with pytest.MonkeyPatch.context() as patch:
        hand_made.render_machine(folder.parents[1], patch, OTHER)
    there = folder / "machines" / OTHER
    names = {path.name for path in folder.glob("*.html")}
    assert names - {path.name for path in there.glob("*.html")} == {"machines.html"}
    own = measured[measured["machine"] == OTHER]
    found = json.loads(DATA.search((there / "index.html").read_text())[1])
    assert sum(len(group["rows"][-1]) for group in found["groups"]) == len(own)
    for path in [*folder.glob("*.html"), *there.glob("*.html")]:
        links = re.findall(r'href="((?!https?:|data:)[^"#]+\.html)', path.read_text())
        assert all((path.parent / link).is_file() for link in links), path
        others = [link for link in links if "machines/" in link or link.startswith("../../")]
        assert others, path
    text = (folder / "machines.md").read_text()
    assert text.count("\n| [") == 2 and f"(machines/{OTHER}/index.html)" in text
