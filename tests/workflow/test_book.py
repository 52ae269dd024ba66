"""The book is built from a clean copy, strict about links, and its blocks of commands are run as they stand: in a project
with a tiny document, but for those that a comment before them takes out."""

import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tests.scale import copy_repository
from tests.unit.test_book import book

from .conftest import ROOT, Project, lend_environment

RUN = {}  # the blocks of a page that are run
for page, block in book.all_blocks():
    if block.why_not is None:
        RUN.setdefault(page, []).append("\n".join(block.commands))


@pytest.fixture
def shelf(finished: Project, tmp_path: Path) -> Project:
    """A copy of the finished project, its configuration under the names that commands have, and set up."""
    project = Project(tmp_path / "copy")
    shutil.copytree(finished.root, project.root)
    tiny = yaml.safe_load(project.path("tiny.yaml").read_text())
    tiny["protocol"]["processes"] = 2  # one says nothing of noise
    project.path("config/quick.yaml").write_text(yaml.safe_dump(tiny))
    project.configure("config/config.yaml", documents=["tiny"], overrides={})
    lend_environment(project.root)
    return project


@pytest.mark.parametrize("page", RUN)
def test_commands_run(page: str, shelf: Project) -> None:
    environment = os.environ | {"PATH": f"{shelf.root / '.venv/bin'}:{os.environ['PATH']}"}
    for block in RUN[page]:
        done = subprocess.run(
            ["bash", "-e"],
            input=block,
            cwd=shelf.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}"


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
def site(docs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`make docs` on a copy of the repository's files alone."""
    folder = tmp_path_factory.mktemp("clone")
    copy_repository(folder)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    lend_environment(folder)
    (folder / ".docs").mkdir()
    (folder / ".docs/bin").symlink_to(docs / "bin")
    (folder / ".docs/ready").touch()
    done = subprocess.run(["make", "docs"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder / "site"


def test_the_book_has_all_its_pages(site: Path) -> None:
    written = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    for page in [*map(str, written), *book.MADE, *book.elsewhere()]:
        assert (site / page).with_suffix(".html").exists(), page
    for report in sorted((ROOT / "report").glob("*/index.md")):
        folder = site / "report" / report.parent.name
        for name in [*(path.stem for path in report.parent.glob("*.md")), "cells"]:
            shown = (folder / f"{name}.html").read_text()  # the report's own, not Sphinx's
            assert 'aria-current="page"' in shown and 'href="../../index.html"' in shown
    first = (site / "report/example/index.html").read_text()
    assert "<table" in first and '<svg class="narrow"' in first
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
            if parts.fragment and there.suffix == ".html":
                assert unquote(parts.fragment) in pages[there].anchors, (
                    f"{path.relative_to(site)}: {target}"
                )
        text = path.read_text()
        fetched = re.findall(
            r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(https?:[^"]*)"', text
        )
        assert not fetched, f"{path.relative_to(site)}: {fetched[0]}"
