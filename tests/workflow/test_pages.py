"""The repository's example has the headings, figures and numbers that its records are rendered to, on any machine: nothing is
measured, built or fetched. The book is built of the same copy, strict about links."""

import re
import shutil
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pandas as pd
import pytest

from tests.scale import copy_repository
from tests.unit.test_book import book

from .conftest import ROOT, Project, lend_environment

EXAMPLE = Path("report/example")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?:e-?\d+)?(?!\w)")


def facts(path: Path) -> object:
    """What has to be right in a file of the example, whatever its text says: headings, figures, what the rows and columns of tables
    are called, and the numbers of each row."""
    if path.suffix == ".csv":
        # By one row more or less in a sum, machines differ in the last digits.
        table = pd.read_csv(path, low_memory=False).map(
            lambda value: f"{value:.6g}" if isinstance(value, float) else str(value)
        )
        return list(table), sorted(table.itertuples(index=False, name=None))
    text = path.read_text()
    if path.suffix == ".md":
        headings = re.findall(r"^#+ .*", text, re.MULTILINE)
        heads = re.findall(r"^(\|.*)\n\|:--", text, re.MULTILINE)
        rows = [line for line in text.splitlines() if line.startswith("|")]
        numbers = [(row.split("|")[1], NUMBER.findall(row)) for row in rows]
        return headings, re.findall(r"!\[.*\]\((.*)\)", text), heads, numbers
    elements = list(ElementTree.parse(path).iter())
    titles = [element.text for element in elements if element.tag.endswith("}title")]
    shown = [element.text or "" for element in elements if element.tag.endswith("}text")]
    return titles, Counter(NUMBER.findall("\n".join(shown)))


def rendered(folder: Path) -> dict[str, Path]:
    """The files of an example but its records, by their names."""
    found = (path for path in sorted(folder.rglob("*")) if path.suffix in (".md", ".svg", ".csv"))
    return {path.relative_to(folder).as_posix(): path for path in found}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository whose example has but its records, after `make example-pages` without a network."""
    folder = tmp_path_factory.mktemp("clone")
    copy_repository(folder)
    lend_environment(folder)
    for path in (folder / EXAMPLE).rglob("*"):
        if path.is_file() and not path.name.endswith(".tar.xz"):
            path.unlink()
    nowhere = [f"{kind}_proxy=http://127.0.0.1:9" for kind in ("http", "https", "all")]
    Project(folder).run(["env", *nowhere, "make", "example-pages"])
    return folder


def test_the_pages_have_the_numbers_of_the_repository(copy: Path) -> None:
    there, made = rendered(ROOT / EXAMPLE), rendered(copy / EXAMPLE)
    assert made.keys() == there.keys() and len(made) > 20
    assert [name for name in there if facts(made[name]) != facts(there[name])] == []

    # Nothing was measured or built.
    assert not (copy / "results").exists() and not (copy / ".environments").exists()


def test_each_page_has_its_html(copy: Path) -> None:
    pages = copy / "build/pages/example"
    names = {path.stem for path in pages.glob("*.md")}
    assert {path.stem for path in pages.glob("*.html")} == names
    assert all("<main" in path.read_text() for path in pages.glob("*.html"))


class Links(HTMLParser):
    """What a page links to or shows, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets, self.anchors = set(), set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for key, value in attributes:
            if key in ("href", "src") and value:
                self.targets.add(value)
            if key == "id":
                self.anchors.add(value)


@pytest.fixture(scope="module")
def site(copy: Path, docs: Path) -> Path:
    """`make docs` there, of pages that are rendered."""
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / ".docs").mkdir()
    (copy / ".docs/bin").symlink_to(docs / "bin")
    (copy / ".docs/ready").touch()
    assert "WARNING" not in Project(copy).run(["make", "docs"])
    return copy / "site"


def test_the_book_has_all_its_pages(site: Path) -> None:
    written = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    for page in [*map(str, written), *book.MADE, *book.elsewhere()]:
        assert (site / page).with_suffix(".html").exists(), page
    for report in sorted((ROOT / "report").glob("*/index.md")):
        folder = site / "report" / report.parent.name
        for name in (path.stem for path in report.parent.glob("*.md")):
            shown = (folder / f"{name}.html").read_text()  # the report's own, not Sphinx's
            assert 'aria-current="page"' in shown and 'href="../../index.html"' in shown
    first = (site / "report/example/index.html").read_text()
    assert "<table" in first and 'id="explorer"' in first
    contents = (site / "index.html").read_text()
    for page in ("tutorial/first-run.html", "reference/configuration.html", "how-to/slurm.html"):
        assert f'href="{page}"' in contents, page


def test_links_of_the_book_lead_somewhere_in_it(site: Path) -> None:
    """And nothing is fetched from elsewhere."""
    pages = {path: Links(path.read_text()) for path in site.rglob("*.html")}
    assert len(pages) > 40
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            assert there.exists(), f"{path.relative_to(site)}: {target}"
            view = "=" in parts.fragment  # of the explorer
            if parts.fragment and not view and there.suffix == ".html":
                assert unquote(parts.fragment) in pages[there].anchors, (
                    f"{path.relative_to(site)}: {target}"
                )
        text = path.read_text()
        fetched = re.findall(
            r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(https?:[^"]*)"', text
        )
        assert not fetched, f"{path.relative_to(site)}: {fetched[0]}"
