"""`snakemake --report` in a browser, as a reader opens it: from the start page to a table and a figure."""

import io
import json
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from .conftest import Project

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def report(finished: Project) -> Path:
    finished.snakemake("--report", "report.html")
    return finished.path("report.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not path:
        pytest.skip(f"no browser on PATH: {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """The report, opened; afterwards, whatever was clicked, there was no error and no network."""
    errors, requests = [], []
    page = browser.new_page()
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    yield page
    page.close()
    assert errors == []
    assert [url[:80] for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert report.as_uri() in requests  # they are listened to


def view(page: Page, category: str, label: str) -> Locator:
    """Open a category, then one of its results by the eye beside it."""
    found = page.get_by_role("listitem").filter(has_text=re.compile(f"^{category}$"))
    found.get_by_role("link").click()
    row = page.get_by_role("row", name=label)
    expect(row).to_have_count(1)
    return row.locator("a").first


def test_document_with_table_and_figure(page: Page) -> None:
    view(page, "tiny", "page with all tables").click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("cell", name="A loop is faster.").first).to_be_visible()
    page.get_by_role("row", name=re.compile("^figure ")).first.locator("a").first.click()
    figure = page.locator("img[src*='.svg']").last
    expect(figure).to_be_visible()
    assert figure.evaluate("image => image.naturalWidth") > 300


def test_start_page_opens_the_first_page_and_its_explorer(page: Page, finished: Project) -> None:
    page.get_by_role("link", name="Open the first page").click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="What does flexibility cost?")).to_be_visible()
    expect(frame.locator("a[href*='.html']")).to_have_count(0)  # they would lead nowhere
    rows = frame.locator("#table tbody tr")
    measured = finished.cells().query("status == 'ok'")
    expect(rows).to_have_count(len(measured.query("phase == 'training'")))
    frame.get_by_role("radio", name="forward").check()
    expect(rows).to_have_count(len(measured.query("phase == 'forward'")))
    frame.locator(".bars button").last.click()
    expect(frame.locator("#detail")).to_contain_text("scripts/implementations/plain/")


def test_statistics_know_what_was_measured(report: Path) -> None:
    """A run time of each job, and the rule in the graph."""
    text = report.read_text()
    timed = Counter(re.findall(r'"rule": "(\w+)", "runtime": [\d.]+', text))
    assert timed["time_cell"] == 4
    assert timed["check_implementation"] == 2 and timed["build_environment"] == 4


def test_raw_samples_travel_with_the_report(page: Page, finished: Project) -> None:
    with page.expect_download() as download:
        view(page, "Data", "all records with their raw samples").click()
    with zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes())) as packed:
        names = packed.namelist()
        files = {name.partition("/")[2]: json.loads(packed.read(name)) for name in names}
    measured = finished.cells().query("status == 'ok'")
    (manifest,) = [found for name, found in files.items() if name.startswith("manifests/")]
    named = [name for cell in manifest["cells"] for name in cell["records"]]
    # Beside them the manifest, and what says who packed it.
    assert len(named) == len(measured) == len(files) - 2
    means = [sum(files[name]["samples"]) / len(files[name]["samples"]) for name in named]
    assert sorted(means) == pytest.approx(sorted(measured["wall_s"]))
