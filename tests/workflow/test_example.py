"""The repository's example is what its records are rendered to, on any machine: nothing is measured, built or fetched."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.scale import copy_repository

from .conftest import ROOT, lend_environment

EXAMPLE = Path("report/example")


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository whose example has but its records, after `make example-pages` without a network."""
    folder = tmp_path_factory.mktemp("clone")
    copy_repository(folder)
    lend_environment(folder)
    for path in (folder / EXAMPLE).rglob("*"):
        if path.is_file() and not path.name.endswith(".tar.xz"):
            path.unlink()
    nowhere = {f"{kind}_proxy": "http://127.0.0.1:9" for kind in ("http", "https", "all")}
    command = ["make", "example-pages"]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | nowhere, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_pages_are_those_of_the_repository(copy: Path) -> None:
    there, made = files(ROOT / EXAMPLE), files(copy / EXAMPLE)
    assert made.keys() == there.keys() and len(made) > 20
    assert [name for name in there if made[name] != there[name]] == []


def test_nothing_was_measured_or_built(copy: Path) -> None:
    assert not (copy / "results").exists() and not (copy / ".environments").exists()


def test_each_page_has_its_html(copy: Path) -> None:
    pages = copy / "build/pages/example"
    names = {path.stem for path in pages.glob("*.md")} | {"cells"}
    assert {path.stem for path in pages.glob("*.html")} == names
    assert all("<main" in path.read_text() for path in pages.glob("*.html"))
