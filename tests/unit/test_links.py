"""Links between the pages of the repository lead somewhere."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def pages() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = listed.stdout.split() or [
        str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")
    ]
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
