"""Links between the pages of the repository lead somewhere."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

LINK = re.compile(r"\]\(([^)\s]+)\)")


def pages() -> list[str]:
    command = ["git", "ls-files", "*.md"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.split()
    # What rendered reports link to is not all committed.
    return [name for name in found if (ROOT / name).exists() and not name.startswith("report/")]


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("name", pages())
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    for target in LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), f"{name}: {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{name}: {target}"
