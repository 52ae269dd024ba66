"""What a release takes from several files is the same in all of them."""

import re
import tomllib

import yaml

from tests.conftest import ROOT

PACKAGE = ROOT / "packages/recurrent_cells"


def newest(changes: str) -> str:
    """The version at the top of a changelog."""
    return re.findall(r"^## ([^,\n]+)", changes, re.M)[0]


def test_of_the_workflow() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == newest(changes)
    assert len(changes.splitlines()) <= 150


def test_of_the_package() -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    assert project["version"] == newest((PACKAGE / "CHANGELOG.md").read_text())
