"""What comes from elsewhere stays where it belongs: names in records and packs below their folder, text in pages text."""

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from commands import compare_runs
from datasets import ptb
from plan import configuration, matrix
from reporting import page, results
from steps import fetch_corpus, pack_results
from tests.conftest import ROOT

from . import hand_made

# Composed of quoted words, or of digits.
SAFE = {f"params.{name}" for name in ("also", "machine", "processes", "source", "stamp", "stride")}


@pytest.mark.parametrize("file", sorted((ROOT / "workflow/rules").glob("*.smk")), ids=str)
def test_what_rules_hand_to_the_shell_is_quoted(file: Path) -> None:
    for block in re.findall(r"^    shell:\n((?:        .*\n?)+)", file.read_text(), re.M):
        for name, quoted in re.findall(r"\{(params\.\w+)(:q)?\}", block):
            assert quoted or name in SAFE, f"{file.name}: {name}"


def test_archives_are_read_member_by_member_and_arrays_without_objects() -> None:
    """What else code may not do, ruff says (pyproject.toml)."""
    for folder in ("scripts", "packages/recurrent_cells/src"):
        for file in (ROOT / folder).rglob("*.py"):
            found = re.findall(r"\.extractall\(|allow_pickle=True", file.read_text())
            assert not found, file


OUTSIDE = ("../../outside.json", "/etc/passwd", "records/../../outside.json")
NAMES = (*OUTSIDE, "records/a\n.json", "records/x")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    hand_made.project(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        hand_made.write_manifest(folder, "stacked-lm", hand_made.configuration("stacked-lm"))
    return folder


def with_manifest(folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: object) -> Path:
    """A results folder with a changed manifest, beside the one of the project."""
    (path,) = (folder / "results/manifests").glob("*.json")
    content = json.loads(path.read_text())
    record = changes.pop("record", None)
    if record:
        next(cell for cell in content["cells"] if cell["records"])["records"][0] = record
    changed = folder / "changed"
    (changed / "manifests").mkdir(parents=True, exist_ok=True)
    (changed / "manifests" / path.name).write_text(json.dumps(content | changes))
    if not (changed / "records").exists():
        (changed / "records").symlink_to(folder / "results/records")
    return changed


@pytest.mark.parametrize("name", NAMES)
def test_a_pack_names_nothing_outside_its_folder(project: Path, monkeypatch, name: str) -> None:
    """Neither is it read, nor would it be packed and sent."""
    folder = with_manifest(project, monkeypatch, record=name)
    for read in (results.members, compare_runs.load):
        with pytest.raises(SystemExit, match=r"is not a valid manifest: cells\.\d+\.records\.0: "):
            read(folder)
    (line,) = configuration.unreadable(str(folder))
    assert "is not a manifest: cells." in line
    monkeypatch.setattr("sys.argv", ["pack", str(folder)])
    with pytest.raises(SystemExit, match="is not a valid manifest"):
        pack_results.main()
    assert not [*folder.glob("*.zip*")]


@pytest.mark.parametrize("key", ["machine", "document"])
@pytest.mark.parametrize("name", ["../../outside", "a b", "a\n", None])
def test_a_manifest_has_names_of_files(
    project: Path, monkeypatch: pytest.MonkeyPatch, key: str, name: str | None
) -> None:
    """An archive, a page and a table are called after them."""
    folder = with_manifest(project, monkeypatch, **{key: name})
    with pytest.raises(SystemExit, match=f"is not a valid manifest: {key}: "):
        results.machines_in(folder)


def test_mirrors_are_addresses_and_no_patterns(tmp_path: Path, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(fetch_corpus, "download", lambda url, *more: asked.append(url))
    template = "https://example.org/{split}?{split.__class__}{0}"
    fetch_corpus.from_mirror(template, tmp_path, ptb, {"train": "0" * 64})
    assert asked == ["https://example.org/train?{split.__class__}{0}"]


HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=alert(1)> "><svg onload=alert(1)> [a](javascript:alert(1)) '
    "![b](https://evil.example/b.png) ![c](../../../c.svg) </script> <!-- {{ 7 * 7 }} {% raw %} | `x` </details>"
)


class Tags(HTMLParser):
    """What a page does besides showing text: scripts, pictures, frames, handlers, addresses."""

    SUSPECT = re.compile("script|img|iframe|object|embed|link|base|form|meta|image")

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter = Counter()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if self.SUSPECT.fullmatch(tag):
            self.found[tag] += 1
        for name, value in attributes:
            if name.startswith("on"):
                self.found[name] += 1
            address = (value or "") if name in ("href", "src", "xlink:href") else ""
            if ":" in address and not address.startswith("#"):
                self.found[address] += 1


def tags(page: Path) -> Counter:
    found = Tags()
    found.feed(page.read_text())
    return found.found


def pages(folder: Path, hostile: str) -> dict[str, Counter]:
    """{page: its tags} of a report whose records and machine have this text wherever text can stand."""

    def change(cell: matrix.Measurement, process: int, record: dict) -> None:
        record["machine"] = record["machine"] | {"system": hostile, "kernel": hostile}
        record["machine"]["cpu"] = {"Model name": hostile, "Architecture": hostile}
        record["environment"] = record["environment"] | {
            **{"pins": {"numpy": hostile}, "packages": {"numpy": hostile, hostile: hostile}},
            **{"builder": hostile, "python": hostile, "fingerprint": hostile},
        }
        record["corpus"]["source"] = hostile
        record["framework"] |= {"framework": hostile, "framework_version": hostile}
        record["framework"] |= {"build": {hostile: hostile}, "settings": {hostile: hostile}}
        record["repository"] = {"commit": hostile, "dirty": True}
        if cell.implementation.endswith(("jit", "unrolled")):
            hand_made.bad("failed", hostile)(record)

    folder.mkdir()
    hand_made.project(folder, change)
    with pytest.MonkeyPatch.context() as patch:
        hand_made.analyse(folder, patch)
        hand_made.render(folder, patch)
    return {page.name: tags(page) for page in sorted((folder / "results/report").glob("*.html"))}


OWN = {"script": 1, "meta": 2}  # at most, a page


def test_text_of_records_is_text_on_pages(tmp_path: Path) -> None:
    """No script, picture, handler or address but the pages' own."""
    found = pages(tmp_path / "project", HOSTILE)
    assert {"index.html", "stacked-lm.html", "machine.html"} <= found.keys()
    assert "alert(1)" in (tmp_path / "project/results/report/stacked-lm.html").read_text()
    linked = "".join(file.read_text() for file in (ROOT / "config/documents").glob("*.yaml"))
    for name, counted in found.items():
        others = {tag: n for tag, n in counted.items() if n > OWN.get(tag, 0) and tag not in linked}
        assert not others, name


def test_a_page_takes_no_other_files_in(tmp_path: Path) -> None:
    outside = tmp_path / "outside.svg"
    outside.write_text("<svg>secret</svg>")
    (tmp_path / "report").mkdir()
    for picture in ("../outside.svg", "figures/../../outside.svg", outside, "figures/a/none.svg"):
        text = page.to_html(f"# A\n\n![b]({picture})\n", tmp_path / "report")
        assert "secret" not in text and "<img" not in text and "b</p>" in text
